/* threads_groups.c - groups of ranks that are threads: made by whoever comes first, freed by the
 * last. */
#include "base/thread.h"
#include "comm/threads.h"
#include "comm/transports.h"
#include "comm/waiting.h"
#include <stdlib.h>

static void group_free(Group *g)
{
    threads_free_messages(g);
    for (int r = 0; r < g->size; r++) {
        buffer_free(&g->member[r].scratch);
        pthread_cond_destroy(&g->member[r].changed);
    }
    pthread_mutex_destroy(&g->lock);
    pthread_cond_destroy(&g->opened);
    arena_free(g->arena);
}

/* Groups that some members never joined are still there. */
static void world_free(World *w)
{
    for (Group *g = w->groups, *next; g; g = next) {
        next = g->next;
        group_free(g);
    }
    pthread_mutex_destroy(&w->lock);
    free(w->why);
    free(w);
}

/* The last member frees the group; that of all ranks, which is the last in the list, the rest. */
void threads_free(Comm *c)
{
    Group *g = ((Member *)c)->group;
    World *w = g->world;
    bool is_world = !g->parent;
    error_free(c->error);
    c->error = NULL;
    pthread_mutex_lock(&w->lock);
    bool is_last = ++g->n_freed == g->size;
    if (is_last && !is_world) {
        if (g->before) g->before->next = g->next;
        if (g->next) g->next->before = g->before;
        if (w->groups == g) w->groups = g->next;
    }
    pthread_mutex_unlock(&w->lock);
    if (is_last && is_world)
        world_free(w);
    else if (is_last)
        group_free(g);
}

/* The lock of the world is held. */
static Group *add_group(World *w, const Group *parent, const int *ranks, int n, int key)
{
    Arena *a = arena_new();
    Group *g = NEW(a, Group);
    *g = (Group){ .arena = a, .world = w, .parent = parent, .size = n, .key = key };
    g->rank = NEW_N(a, int, n);
    g->member = NEW_N(a, Member, n);
    for (int r = 0; r < n; r++) {
        g->rank[r] = parent ? parent->rank[ranks[r]] : r;
        g->member[r] = (Member){ .comm = threads_calls, .group = g };
        g->member[r].comm.rank = r;
        g->member[r].comm.size = n;
        g->member[r].busy = NEW_N(a, double, n);
        condition_init(&g->member[r].changed);
    }
    pthread_mutex_init(&g->lock, NULL);
    condition_init(&g->opened);
    g->next = w->groups;
    if (g->next) g->next->before = g;
    w->groups = g;
    return g;
}

static bool is_for(const Group *g, const Group *parent, const int *ranks, int n, int key, int rank)
{
    if (g->parent != parent || g->size != n || g->key != key || g->member[rank].is_joined)
        return false;
    for (int r = 0; r < n; r++)
        if (g->rank[r] != parent->rank[ranks[r]]) return false;
    return true;
}

/* The place of the calling rank among the members, of whom each is named once. */
static int find_own(const Comm *c, const int *ranks, int n)
{
    int own = -1;
    for (int i = 0; i < n; i++) {
        CHECK(ranks[i] >= 0 && ranks[i] < c->size);
        if (ranks[i] == c->rank) own = i;
        for (int k = 0; k < i; k++) CHECK(ranks[k] != ranks[i]);
    }
    CHECK(own >= 0);
    return own;
}

/* Whoever comes first makes it. */
Error *threads_group(Comm *c, const int *ranks, int n, int key, Comm **out)
{
    Group *parent = ((Member *)c)->group;
    World *w = parent->world;
    int own = find_own(c, ranks, n);
    Group *found = NULL;
    pthread_mutex_lock(&w->lock);
    /* the oldest that this rank has not joined: all join them in the order in which they are made
     */
    for (Group *g = w->groups; g; g = g->next)
        if (is_for(g, parent, ranks, n, key, own)) found = g;
    if (!found) found = add_group(w, parent, ranks, n, key);
    Member *me = &found->member[own];
    me->is_joined = true;
    me->comm.timeout = c->timeout;
    me->comm.transport = c->transport;
    pthread_mutex_unlock(&w->lock);
    *out = &me->comm;
    return NULL;
}

void comm_threads_new(int n, Comm **out_by_rank)
{
    World *w = calloc(1, sizeof *w);
    CHECK(w != NULL && n > 0);
    w->has_cores = n <= thread_cores();
    pthread_mutex_init(&w->lock, NULL);
    Group *g = add_group(w, NULL, NULL, n, 0);
    for (int r = 0; r < n; r++) {
        g->member[r].is_joined = true;
        g->member[r].comm.timeout = waiting_timeout();
        out_by_rank[r] = &g->member[r].comm;
    }
}
