/* test_state_saving.c - saves in the background of a store that changes meanwhile: what is read
 * where it lies, what is copied, and that the files are those of a save that was waited for. */
#include "base/thread.h"
#include "cli/command_line.h"
#include "comm/rank_threads.h"
#include "ops/accumulate.h"
#include "optim/optim.h"
#include "test.h"
#include "train/state_saving.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 300, COLUMNS = 500, RANKS = 2 };

/* ---- ranks whose savers stand still until they may go ---- */

typedef struct Stalled {
    Comm comm; /* first: what the savers are given */
    Comm *inner;
    pthread_t owner;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool may_go;
} Stalled;

static Error *stalled_reduce(Comm *c, void *data, int64_t n, Dtype t, ReduceOp op, struct Stream *s)
{
    Stalled *x = (Stalled *)c;
    pthread_mutex_lock(&x->lock);
    while (!x->may_go && !pthread_equal(pthread_self(), x->owner))
        pthread_cond_wait(&x->changed, &x->lock);
    pthread_mutex_unlock(&x->lock);
    return x->inner->all_reduce(x->inner, data, n, t, op, s);
}

static Error *stalled_exchange(Comm *c, const Transfer *sends, int n_sends,
                               const Transfer *receives, int n_receives, struct Stream *s)
{
    Comm *inner = ((Stalled *)c)->inner;
    return inner->exchange(inner, sends, n_sends, receives, n_receives, s);
}

static void stalled_free(Comm *c)
{
    Comm *inner = ((Stalled *)c)->inner;
    inner->free(inner);
}

/* Of the world of the rank, which makes one group. */
static Error *stalled_group(Comm *c, const int *ranks, int n, int key, Comm **out)
{
    Stalled *world = (Stalled *)c;
    Comm *whole = world->inner;
    TRY(whole->group(whole, ranks, n, key, &world->inner));
    *out = c;
    return NULL;
}

static void stall(Stalled *s, Comm *c)
{
    *s = (Stalled){ .comm = { .rank = c->rank,
                              .size = c->size,
                              .all_reduce = stalled_reduce,
                              .exchange = stalled_exchange,
                              .group = stalled_group,
                              .free = stalled_free },
                    .inner = c,
                    .owner = pthread_self() };
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
}

static void set_may_go(Stalled *s, bool may_go)
{
    pthread_mutex_lock(&s->lock);
    s->may_go = may_go;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* ---- a store and its saver ---- */

typedef struct Keeper {
    Arena *arena, *of_saver;
    Device *device;
    ParamStore *store;
    Graph *graph;
    Stalled stalled;
    Consensus consensus;
    AppState state;
    Optimizer optimizer;
    Model model;
    TrainingJob job;
    StateSaving *saving;
    float updates;
} Keeper;

static const char *const none[] = { NULL };

static void fill(Keeper *r, float first)
{
    for (int64_t i = 0; i < store_count(r->store); i++) {
        const Tensor *t = &store_at(r->store, i)->tensor;
        Tensor view;
        assert_no_error(store_view(r->store, t, false, r->arena, &view));
        for (int64_t k = 0; k < tensor_count(t); k++)
            dtype_set(t->dtype, view.data, k, first + (float)(i * 7 + k));
        assert_no_error(store_put(r->store, t, &view));
    }
}

/* As a program does before its update; then all of it is another. */
static void change(Keeper *r)
{
    assert_no_error(store_before_change(r->store));
    fill(r, -1e6F);
    r->updates = 99;
}

/* `early`: a node of the forward pass writes a state. `c` NULL: one rank. */
static Keeper *keeper_new(Comm *c, bool early)
{
    const Dim dims[] = { { .size = ROWS }, { .size = COLUMNS } };
    Arena *a = arena_new();
    Keeper *r = NEW(a, Keeper);
    *r = (Keeper){ .arena = a, .of_saver = arena_new(), .graph = graph_new(a), .updates = 3 };
    assert_no_error(device_new(1, &r->device));
    Graph *g = r->graph;
    for (int i = 0; i < 3; i++) {
        Value *p = graph_param(g, arena_printf(a, "h.%d.w", i), 2, dims);
        Value *m = graph_state(g, arena_printf(a, "momentum.h.%d.w", i), F32, 2, dims);
        if (early && i == 0) accumulate(g, p, m);
    }
    r->store = store_new(r->device);
    assert_no_error(store_add(r->store, g));
    assert_no_error(store_allocate(r->store));
    fill(r, 0);
    if (c) stall(&r->stalled, c);
    if (c) r->consensus = (Consensus){ .world = &r->stalled.comm, .arena = a };
    const CheckpointStrategy strategy = { .every = 1, .keep = -1 };
    const CheckpointExecution execution = { .checkpoint_path = path_join(a, test_folder(), "saved"),
                                            .experiment_id = "x",
                                            .format = 1,
                                            .global_rank = c ? c->rank : 0 };
    CheckpointSaving *saving = checkpoint_saving_new(r->of_saver, &strategy, &execution);
    saving->in_background = true;
    r->optimizer = (Optimizer){ .excluded = none, .model = &r->model };
    r->state = (AppState){ .model = &r->model, .optimizer = &r->optimizer };
    r->job = (TrainingJob){
        .state = &r->state, .saving = saving, .consensus = c ? &r->consensus : NULL, .n_threads = 1
    };
    assert_no_error(checkpoint_saving_prepare(saving));
    assert_no_error(state_saving_new(&r->job, r->store, g, &r->updates, &r->saving));
    return r;
}

static void keeper_free(Keeper *r)
{
    state_saving_free(r->saving);
    store_free(r->store);
    r->device->free(r->device);
    arena_free(r->of_saver);
    arena_free(r->arena);
}

static CheckpointTotals after(int64_t steps)
{
    return (CheckpointTotals){ steps, steps * 8, 50, 400 };
}

static void begin(Keeper *r, int64_t steps)
{
    const CheckpointTotals now = after(steps);
    set_may_go(&r->stalled, false);
    assert_no_error(state_saving_begin(r->saving, &now, "{}"));
}

static Error *save_waited_for(Keeper *r, int64_t steps)
{
    const CheckpointTotals now = after(steps);
    set_may_go(&r->stalled, true);
    return state_saving_save(r->saving, &now, "{}");
}

static Error *finish(Keeper *r, int64_t steps)
{
    int64_t saved;
    set_may_go(&r->stalled, true);
    Error *e = state_saving_finish(r->saving, &saved);
    assert_int_equal(saved, steps);
    return e;
}

static void assert_same_saves(int64_t x, int64_t y)
{
    Arena *a = arena_new();
    const CheckpointTotals one = after(x), two = after(y);
    const char *told, *root = path_join(a, test_folder(), "saved");
    if (shell_run(a,
                  arena_printf(a, "cd '%s' && diff -r '%s' '%s' 2>&1", root,
                               checkpoint_name(a, "x", &one), checkpoint_name(a, "x", &two)),
                  &told))
        fail_msg("%s", told);
    arena_free(a);
}

/* ---- tests ---- */

/* Each rank writes half of what both have. */
static Error *save_and_change(Comm *c, void *arg)
{
    Keeper *r = keeper_new(c, false);
    const size_t all = state_saving_bytes(r->saving);
    (void)arg;
    assert_in_range(all, 3 * ROWS * COLUMNS * 4, 3 * ROWS * COLUMNS * 4 + 512 * 6);
    TRY(save_waited_for(r, 1));
    begin(r, 2);
    set_may_go(&r->stalled, true);
    while (!state_saving_is_done(r->saving)) usleep(1000);
    change(r);
    assert_int_equal(state_saving_copied(r->saving), 0);
    TRY(finish(r, 2));

    fill(r, 0);
    r->updates = 3;
    begin(r, 3);
    change(r);
    assert_in_range(state_saving_copied(r->saving), 3 * ROWS * COLUMNS * 4, all);
    TRY(finish(r, 3));
    change(r); /* nobody reads any more */
    keeper_free(r);
    return NULL;
}

TEST(ranks_save_what_was_when_they_began_whether_it_is_read_where_it_lies_or_copied_late)
{
    on_ranks(RANKS, save_and_change, NULL, NULL);
    assert_same_saves(1, 2);
    assert_same_saves(1, 3);
}

typedef struct Losing {
    pthread_barrier_t lost;
    const char *text[RANKS];
} Losing;

/* The disk is lost before anything is written. */
static Error *lose_disk(Comm *c, void *arg)
{
    Losing *l = arg;
    Keeper *r = keeper_new(c, false);
    const char *root = r->job.saving->execution.checkpoint_path;
    TRY(save_waited_for(r, 1));
    pthread_barrier_wait(&l->lost);
    if (!c->rank) {
        assert_int_equal(rename(root, arena_printf(r->arena, "%s-away", root)), 0);
        assert_no_error(file_write(root, "", 0));
    }
    begin(r, 2);
    Error *e = finish(r, 2);
    l->text[c->rank] = e ? strdup(error_text(e)) : NULL;
    error_free(e);
    change(r);
    assert_int_equal(state_saving_copied(r->saving), 0);
    pthread_barrier_wait(&l->lost);
    if (!c->rank) {
        assert_int_equal(unlink(root), 0);
        assert_int_equal(rename(arena_printf(r->arena, "%s-away", root), root), 0);
    }
    fill(r, 0);
    r->updates = 3;
    pthread_barrier_wait(&l->lost);
    TRY(save_waited_for(r, 3));
    keeper_free(r);
    return NULL;
}

TEST(ranks_that_lose_their_disk_say_so_copy_nothing_and_save_again)
{
    Losing l = { .text = { NULL } };
    pthread_barrier_init(&l.lost, NULL, RANKS);
    on_ranks(RANKS, lose_disk, &l, NULL);
    assert_non_null(l.text[0]);
    assert_contains(l.text[0], "cannot");
    assert_non_null(l.text[1]);
    assert_string_equal(l.text[1], "");
    assert_same_saves(1, 3);
    for (int i = 0; i < RANKS; i++) free((char *)l.text[i]);
    pthread_barrier_destroy(&l.lost);
}

/* The host cannot read a device's memory when it likes; and nobody says when a node changes what
 * others than the update may write. */
static void save_what_is_copied_at_once(bool early)
{
    Keeper *r = keeper_new(NULL, early);
    assert_no_error(save_waited_for(r, 1));
    begin(r, 2);
    assert_in_range(state_saving_copied(r->saving), 6 * ROWS * COLUMNS * 4,
                    state_saving_bytes(r->saving));
    fill(r, -1e6F);
    r->updates = 99;
    assert_no_error(finish(r, 2));
    keeper_free(r);
    assert_same_saves(1, 2);
}

TEST(a_state_that_changes_before_the_update_is_copied_at_once)
{
    save_what_is_copied_at_once(true);
}

static void on_device(void)
{
    save_what_is_copied_at_once(false);
}

__attribute__((constructor)) static void register_on_device(void)
{
    static TestCase t = { .name = "a_state_in_a_device_is_copied_at_once",
                          .file = __FILE__,
                          .run = on_device,
                          .device = "fenced" };
    test_register(&t);
}
