/* test_staging.c - saves whose state changes before, while and after it is written: the files are
 * those of a save for which it stands still. */
#include "base/memory.h"
#include "base/thread.h"
#include "checkpoint/saving.h"
#include "checkpoint/staging.h"
#include "cli/command_line.h"
#include "sample_state.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 1300, COLUMNS = 1100, BYTES = 2 * ROWS * COLUMNS * 4, NEVER = 1000 };

/* A state that changes by another thread, from the moment on at which its numbers are asked for the
 * n-th time by whoever writes. */
typedef struct Changing {
    CheckpointContent content;
    float *numbers[3];
    Pool *pool;
    int n, change_at;
    bool has_changed;
    pthread_t thread;
    _Atomic bool is_done; /* the thread is */
    Error *error;
    const char *fails; /* at that moment, instead; NULL: changes */
} Changing;

static void change(Changing *c)
{
    for (int i = 0; i < 3; i++)
        memset(c->numbers[i], 0xff, tensor_bytes(&c->content.state[i].part));
}

static void *copy_and_change(void *arg)
{
    Changing *c = arg;
    c->error = staging_copy(c->content.staging, c->pool);
    change(c);
    c->is_done = true;
    return NULL;
}

static Error *fetch(void *context, int64_t i, const void **data)
{
    Changing *c = context;
    if (!c->has_changed && c->n++ == c->change_at) {
        if (c->fails) return error_new("%s", c->fails);
        c->has_changed = true;
        assert_true(thread_start(&c->thread, copy_and_change, c));
        while (!c->is_done && !staging_is_wanted(c->content.staging)) usleep(100);
    }
    *data = c->numbers[i];
    return NULL;
}

/* A whole tensor, which disks take from where it lies, and the right half of the columns of another
 * one's, whose left half follows. */
static Changing changing(Arena *a, Staging *staging, Pool *pool)
{
    Changing c = { .pool = pool, .change_at = NEVER };
    StateTensor *t = NEW_N(a, StateTensor, 3);
    for (int i = 0; i < 3; i++) {
        const int64_t columns = i ? COLUMNS / 2 : COLUMNS;
        float *x = c.numbers[i] = memory_untouched(sizeof(float) * ROWS * (size_t)columns);
        arena_on_free(a, free, x);
        for (int64_t k = 0; k < ROWS * columns; k++) x[k] = (float)(k * 3 + i);
        t[i] = (StateTensor){
            .name = i ? "app.model.split" : "app.model.whole",
            .whole = { ROWS, COLUMNS },
            .part = { .dtype = F32, .n_dims = 2, .size = { ROWS, columns }, .data = x }
        };
        if (!i) continue;
        Part *p = NEW(a, Part);
        *p = (Part){ .whole = COLUMNS, .n_parts = 2, .index = 2 - i };
        t[i].part.part[1] = p;
    }
    c.content = (CheckpointContent){
        .state = t, .n = 3, .progress = "{}", .fetch = fetch, .pool = pool, .staging = staging
    };
    return c;
}

typedef struct Saved {
    Arena *arena;
    CheckpointSaving *saving;
    CheckpointTotals totals;
    const char *root;
    const char *folder; /* of its checkpoint */
} Saved;

/* Formats 0: DCP, whose files name their folder, so that all have the same; 1: native. */
static Saved saved_new(Arena *a, int format)
{
    const CheckpointStrategy strategy = { .every = 1, .keep = 1 };
    const CheckpointExecution execution = { .checkpoint_path = path_join(a, test_folder(), "x"),
                                            .experiment_id = "x",
                                            .format = format };
    Saved s = { .arena = a, .totals = { 1, 8, 50, 400 }, .root = execution.checkpoint_path };
    s.saving = checkpoint_saving_new(a, &strategy, &execution);
    assert_no_error(make_directories(s.root));
    s.folder = path_join(a, s.root, checkpoint_name(a, "x", &s.totals));
    return s;
}

static Error *save(Saved *s, Changing *c)
{
    PlannedSave *planned;
    c->content.context = c;
    TRY(checkpoint_saving_plan(s->arena, s->saving, &s->totals, &c->content, &planned));
    Error *e = checkpoint_saving_write(planned);
    if (c->has_changed) pthread_join(c->thread, NULL);
    return error_join(e, c->error);
}

/* Under another name, so that others can follow. */
static void keep(Saved *s)
{
    const char *root = path_join(s->arena, test_folder(), "kept");
    assert_no_error(remove_tree(root));
    assert_int_equal(rename(s->root, root), 0);
    s->folder = path_join(s->arena, root, path_name(s->folder));
    s->root = root;
}

static void assert_same(Arena *a, const Saved *x, const Saved *y)
{
    const char *told;
    const int status =
        shell_run(a, arena_printf(a, "diff -r '%s' '%s' 2>&1", x->folder, y->folder), &told);
    if (status) fail_msg("%s", told);
}

/* Before anything is read, in the middle of each tensor, and never. */
TEST(a_save_has_the_state_as_it_was_whenever_that_changes)
{
    static const int moments[] = { 0, 1, 3, 5, NEVER };
    Staging *staging = staging_new();
    Pool *pool = pool_new(2);
    for (int format = 0; format < 2; format++) {
        Arena *a = arena_new();
        Saved want = saved_new(a, format);
        Changing still = changing(a, NULL, pool);
        assert_no_error(save(&want, &still));
        keep(&want);
        size_t before = BYTES + 1;
        for (int i = 0; i < 5; i++) {
            Saved got = saved_new(a, format);
            Changing c = changing(a, staging, pool);
            c.change_at = moments[i];
            assert_no_error(save(&got, &c));
            assert_same(a, &got, &want);
            assert_int_equal(c.has_changed, moments[i] < NEVER);
            const size_t copied = staging_copied(staging);
            assert_true(copied < before);
            if (i == 0) assert_int_equal(copied, BYTES);
            if (moments[i] == NEVER) assert_int_equal(copied, 0);
            before = copied;
            staging_end(staging);
        }
        arena_free(a);
    }
    pool_free(pool);
    staging_free(staging);
}

/* Its pair of files is read one after the other. */
TEST(a_save_of_two_files_has_the_state_as_it_was)
{
    Staging *staging = staging_new();
    Arena *a = arena_new();
    CheckpointContent c = sample_content(a, 5);
    const CheckpointStrategy strategy = { .every = 1, .keep = 1 };
    const CheckpointExecution execution = { .checkpoint_path = test_folder(),
                                            .experiment_id = "pair",
                                            .is_fsdp1 = true };
    const CheckpointTotals totals = { 5, 8, 50, 400 };
    CheckpointSaving *saving = checkpoint_saving_new(a, &strategy, &execution);
    PlannedSave *planned;
    c.staging = staging;
    assert_no_error(checkpoint_saving_plan(a, saving, &totals, &c, &planned));
    assert_no_error(staging_copy(staging, NULL));
    for (int64_t i = 0; i < c.n; i++)
        memset(c.state[i].part.data, 0xff, tensor_bytes(&c.state[i].part));
    assert_no_error(checkpoint_saving_write(planned));
    int seed = 0;
    assert_no_error(sample_load(saving->kept[0], &seed));
    assert_int_equal(seed, 5);
    arena_free(a);
    staging_free(staging);
}

TEST(nothing_is_copied_of_a_save_that_has_ended_or_failed)
{
    Staging *staging = staging_new();
    Arena *a = arena_new();
    Saved s = saved_new(a, 1);
    Changing c = changing(a, staging, NULL);
    c.change_at = 2;
    c.fails = "the memory cannot be read";
    assert_error_has(save(&s, &c), "the memory cannot be read");
    assert_int_equal(access(s.folder, F_OK), -1);
    staging_end(staging);
    assert_no_error(staging_copy(staging, NULL));
    assert_int_equal(staging_copied(staging), 0);
    c = changing(a, staging, NULL);
    assert_no_error(save(&s, &c));
    staging_end(staging);
    assert_no_error(staging_copy(staging, NULL));
    assert_int_equal(staging_copied(staging), 0);
    arena_free(a);
    staging_free(staging);
}

/* As on a device whose memory cannot be copied. */
TEST(numbers_that_cannot_be_copied_stay)
{
    Staging *staging = staging_new();
    Arena *a = arena_new();
    PlannedSave *planned;
    Saved want = saved_new(a, 1);
    Changing still = changing(a, NULL, NULL), c = changing(a, staging, NULL);
    assert_no_error(save(&want, &still));
    keep(&want);
    Saved s = saved_new(a, 1);
    c.content.context = &c;
    c.change_at = 1;
    c.fails = "the device is lost";
    assert_no_error(checkpoint_saving_plan(a, s.saving, &s.totals, &c.content, &planned));
    assert_error_has(staging_copy(staging, NULL), "the device is lost");
    c.change_at = NEVER;
    assert_no_error(checkpoint_saving_write(planned));
    assert_same(a, &s, &want);
    arena_free(a);
    staging_free(staging);
}

/* ---- by two threads ---- */

typedef struct Writing {
    PlannedSave *planned;
    Error *error;
} Writing;

static void *write_main(void *arg)
{
    Writing *w = arg;
    w->error = checkpoint_saving_write(w->planned);
    return NULL;
}

/* Wherever the writer is then. */
TEST(the_state_may_change_as_soon_as_it_was_copied_while_another_thread_writes)
{
    Staging *staging = staging_new();
    Pool *pool = pool_new(2);
    Arena *a = arena_new();
    Saved want = saved_new(a, 1);
    Changing still = changing(a, NULL, pool);
    int n_live = 0, n_late = 0;
    assert_no_error(save(&want, &still));
    keep(&want);
    for (int i = 0; i < 24; i++) {
        Arena *once = arena_new();
        Saved s = saved_new(once, 1);
        Changing c = changing(once, staging, pool);
        Writing w = { .planned = NULL };
        pthread_t thread;
        c.content.fetch = NULL;
        assert_no_error(checkpoint_saving_plan(once, s.saving, &s.totals, &c.content, &w.planned));
        assert_true(thread_start(&thread, write_main, &w));
        usleep((useconds_t)(i * 300));
        assert_no_error(staging_copy(staging, pool));
        change(&c);
        pthread_join(thread, NULL);
        assert_no_error(w.error);
        staging_end(staging);
        assert_same(once, &s, &want);
        n_live += staging_copied(staging) < BYTES;
        n_late += staging_copied(staging) > 0;
        arena_free(once);
    }
    test_note("of 24 saves %d read something where it lay, %d something from a copy", n_live,
              n_late);
    arena_free(a);
    pool_free(pool);
    staging_free(staging);
}
