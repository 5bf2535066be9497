/* threads_exchange.c - messages between the ranks that are threads.
 *
 * A message goes straight to where it is waited for, by the hand of the sender. Where nobody waits
 * yet it is offered as it lies at the sender; a receiver that comes while the sender still waits
 * for its own messages takes it from there. What nobody has taken by then is copied. */
#include "base/error.h"
#include "comm/threads.h"
#include <stdlib.h>
#include <string.h>

/* A message that a receiver has not taken yet, or is taking. */
typedef struct Message {
    struct Message *next;
    int from, to, tag;
    size_t bytes;
    const void *data;
    Buffer copy;
    double arrival; /* not before */
    bool is_copied; /* `data` is the copy, and the sender has left */
    bool is_taken, is_read;
} Message;

/* A receiver that waits. */
typedef struct Want {
    struct Want *next;
    int from, to, tag;
    size_t bytes;
    void *data;
    double arrival;   /* not before */
    bool is_met;      /* a message was found; it is on its way */
    bool is_done;     /* it is there */
    Message *message; /* that this receiver copies itself */
} Want;

/* What a member has in hand during one exchange. */
typedef struct Pending {
    struct Pending *next;
    Buffer room; /* of the lists below */
    Member *me;
    Transfer *send;
    int n_sends, n_receives;
    Want *want;        /* by receive */
    Want **met;        /* by send: who waits for it, or NULL */
    Message **offered; /* by send otherwise */
} Pending;

/* -- lists; the lock of the group is held -- */

static void append_message(Group *g, Message *m)
{
    Message **end = &g->message;
    while (*end) end = &(*end)->next;
    *end = m;
}

static void remove_message(Group *g, const Message *m)
{
    Message **p = &g->message;
    while (*p && *p != m) p = &(*p)->next;
    if (*p) *p = m->next;
}

static void append_want(Group *g, Want *w)
{
    Want **end = &g->wanted;
    while (*end) end = &(*end)->next;
    *end = w;
}

static void remove_want(Group *g, const Want *w)
{
    Want **p = &g->wanted;
    while (*p && *p != w) p = &(*p)->next;
    if (*p) *p = w->next;
}

static Message *find_message(const Group *g, const Want *w)
{
    for (Message *m = g->message; m; m = m->next)
        if (m->from == w->from && m->to == w->to && m->tag == w->tag) return m;
    return NULL;
}

static Want *find_want(const Group *g, int from, int to, int tag)
{
    for (Want *w = g->wanted; w; w = w->next)
        if (w->from == from && w->to == to && w->tag == tag) return w;
    return NULL;
}

static Message *new_message(Group *g)
{
    Message *m = g->unused;
    if (m) {
        g->unused = m->next;
        *m = (Message){ .copy = m->copy };
    } else {
        m = calloc(1, sizeof *m);
        CHECK(m != NULL);
    }
    return m;
}

static void give_back(Group *g, Message *m)
{
    m->next = g->unused;
    g->unused = m;
}

static void free_messages(Message *m)
{
    while (m) {
        Message *next = m->next;
        buffer_free(&m->copy);
        free(m);
        m = next;
    }
}

void threads_free_messages(Group *g)
{
    free_messages(g->message);
    free_messages(g->unused);
    for (int r = 0; r < g->size; r++)
        for (Pending *x = g->member[r].idle, *next; x; x = next) {
            next = x->next;
            buffer_free(&x->room);
            free(x);
        }
}

/* -- matching -- */

static Error *different_sizes(const Group *g, int from, int to, int tag, size_t sent, size_t wanted)
{
    return error_new("rank %d sends %zu bytes to rank %d (tag %d), which waits for %zu",
                     g->rank[from], sent, g->rank[to], tag, wanted);
}

static Error *meet_messages(Pending *x)
{
    Group *g = x->me->group;
    for (int i = 0; i < x->n_receives; i++) {
        Want *w = &x->want[i];
        Message *m = find_message(g, w);
        if (!m) {
            append_want(g, w);
            continue;
        }
        if (m->bytes != w->bytes)
            return different_sizes(g, w->from, w->to, w->tag, m->bytes, w->bytes);
        remove_message(g, m);
        m->is_taken = true;
        w->is_met = true;
        w->arrival = m->arrival;
        w->message = m;
    }
    return NULL;
}

static Error *meet_wants(Pending *x)
{
    Group *g = x->me->group;
    int rank = x->me->comm.rank;
    for (int i = 0; i < x->n_sends; i++) {
        const Transfer *t = &x->send[i];
        Want *w = find_want(g, rank, t->peer, t->tag);
        if (w && w->bytes != t->bytes)
            return different_sizes(g, rank, t->peer, t->tag, t->bytes, w->bytes);
        if (w) {
            remove_want(g, w);
            w->is_met = true;
            w->arrival = delay_message(x->me, t);
            x->met[i] = w;
            continue;
        }
        Message *m = new_message(g);
        m->from = rank;
        m->to = t->peer;
        m->tag = t->tag;
        m->bytes = t->bytes;
        m->data = t->data;
        m->arrival = delay_message(x->me, t);
        append_message(g, m);
        x->offered[i] = m;
    }
    return NULL;
}

/* -- copying; without the lock -- */

static void copy(void *to, const void *from, size_t bytes)
{
    if (bytes > 0) memcpy(to, from, bytes);
}

static void fill_wants(Pending *x)
{
    Group *g = x->me->group;
    for (int i = 0; i < x->n_sends; i++) {
        Want *w = x->met[i];
        if (!w) continue;
        copy(w->data, x->send[i].data, w->bytes);
        pthread_mutex_lock(&g->lock);
        w->is_done = true;
        pthread_cond_signal(&g->member[w->to].changed);
        pthread_mutex_unlock(&g->lock);
    }
}

static void take_messages(Pending *x)
{
    Group *g = x->me->group;
    for (int i = 0; i < x->n_receives; i++) {
        Want *w = &x->want[i];
        Message *m = w->message;
        if (!m) continue;
        copy(w->data, m->data, w->bytes);
        pthread_mutex_lock(&g->lock);
        w->is_done = true;
        m->is_read = true;
        if (m->is_copied)
            give_back(g, m);
        else
            pthread_cond_signal(&g->member[m->from].changed);
        pthread_mutex_unlock(&g->lock);
    }
}

/* -- the end of an exchange -- */

/* -1: all there. */
static int find_missing(const Pending *x)
{
    for (int i = 0; i < x->n_receives; i++)
        if (!x->want[i].is_met) return i;
    return -1;
}

static bool is_on_its_way(const Pending *x)
{
    for (int i = 0; i < x->n_receives; i++)
        if (x->want[i].is_met && !x->want[i].is_done) return true;
    return false;
}

/* The lock is held. After an abort only what is on its way is waited for. */
static int wait_for_messages(Pending *x)
{
    Group *g = x->me->group;
    struct timespec deadline = member_deadline(x->me);
    for (;;) {
        int missing = find_missing(x);
        bool goes_on = missing >= 0 && !atomic_load(&g->world->is_aborted);
        if (!goes_on && !is_on_its_way(x)) break;
        int late = pthread_cond_timedwait(&x->me->changed, &g->lock, &deadline);
        missing = find_missing(x);
        if (late && missing >= 0 && !atomic_load(&g->world->is_aborted))
            return x->want[missing].from;
    }
    return -1;
}

/* The lock is held, but not while the copy is made: a receiver may take the original meanwhile. */
static void leave_message(Pending *x, Message *m)
{
    Group *g = x->me->group;
    if (!m->is_taken && !atomic_load(&g->world->is_aborted)) {
        pthread_mutex_unlock(&g->lock);
        copy(buffer_grow(&m->copy, m->bytes), m->data, m->bytes);
        pthread_mutex_lock(&g->lock);
    }
    if (!m->is_taken && !atomic_load(&g->world->is_aborted)) {
        m->data = m->copy.ptr;
        m->is_copied = true;
        return;
    }
    while (m->is_taken && !m->is_read) pthread_cond_wait(&x->me->changed, &g->lock);
    if (!m->is_taken) remove_message(g, m);
    give_back(g, m);
}

static void finish(Pending *x)
{
    Group *g = x->me->group;
    pthread_mutex_lock(&g->lock);
    int missing = wait_for_messages(x);
    pthread_mutex_unlock(&g->lock);
    if (missing >= 0) member_give_up(x->me, missing);
    pthread_mutex_lock(&g->lock);
    wait_for_messages(x); /* nothing, but what comes just now after an abort */
    for (int i = 0; i < x->n_receives; i++)
        if (!x->want[i].is_met) remove_want(g, &x->want[i]);
    for (int i = 0; i < x->n_sends; i++)
        if (x->offered[i]) leave_message(x, x->offered[i]);
    pthread_mutex_unlock(&g->lock);
}

static void check_transfer(const Member *me, const Transfer *t)
{
    CHECK(t->peer >= 0 && t->peer < me->comm.size);
    CHECK(t->tag >= 0 && t->tag < COMM_MAX_TAG);
}

/* Room that the member has had before, if it has any. */
static Pending *new_pending(Member *me)
{
    Pending *x = me->idle;
    if (x) {
        me->idle = x->next;
    } else {
        x = calloc(1, sizeof *x);
        CHECK(x != NULL);
        x->me = me;
    }
    return x;
}

/* One block of memory for all that an exchange has in hand. */
static Pending *begin(Member *me, const Transfer *sends, int n_sends, const Transfer *receives,
                      int n_receives)
{
    size_t of_wants = sizeof(Want) * (size_t)n_receives;
    size_t of_list = sizeof(Transfer) * (size_t)n_sends,
           of_sends = sizeof(void *) * (size_t)n_sends;
    Pending *x = new_pending(me);
    char *room = buffer_grow(&x->room, of_wants + of_list + 2 * of_sends);
    x->n_sends = n_sends;
    x->n_receives = n_receives;
    x->want = (Want *)room;
    x->send = (Transfer *)(room + of_wants);
    x->met = (Want **)(room + of_wants + of_list);
    x->offered = (Message **)(room + of_wants + of_list + of_sends);
    for (int i = 0; i < n_sends; i++) {
        check_transfer(me, &sends[i]);
        x->send[i] = sends[i];
        x->met[i] = NULL;
        x->offered[i] = NULL;
    }
    for (int i = 0; i < n_receives; i++) {
        const Transfer *t = &receives[i];
        check_transfer(me, t);
        x->want[i] = (Want){
            .from = t->peer, .to = me->comm.rank, .tag = t->tag, .bytes = t->bytes, .data = t->data
        };
    }
    return x;
}

/* What meets a message or a receiver that is there already is copied at once, the rest by the peer
 * when it comes. */
Pending *threads_start(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                       int n_receives, struct Stream *s)
{
    (void)s;
    Member *me = (Member *)c;
    Group *g = me->group;
    if (atomic_load(&g->world->is_aborted)) n_sends = n_receives = 0;
    Pending *x = begin(me, sends, n_sends, receives, n_receives);
    pthread_mutex_lock(&g->lock);
    Error *e = meet_messages(x);
    if (!e) e = meet_wants(x);
    pthread_mutex_unlock(&g->lock);
    if (e) c->abort(c, error_text(e));
    error_free(e);
    fill_wants(x);
    take_messages(x);
    return x;
}

Error *threads_finish(Comm *c, Pending *x, struct Stream *s)
{
    (void)s;
    Member *me = (Member *)c;
    finish(x);
    for (int i = 0; i < x->n_receives; i++) delay_until(me, x->want[i].arrival);
    x->next = me->idle;
    me->idle = x;
    return member_error(me, "exchange");
}

Error *threads_exchange(Comm *c, const Transfer *sends, int n_sends, const Transfer *receives,
                        int n_receives, struct Stream *s)
{
    TRY(member_error((Member *)c, "exchange"));
    return threads_finish(c, threads_start(c, sends, n_sends, receives, n_receives, s), s);
}
