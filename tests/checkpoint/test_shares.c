/* test_shares.c - all ranks write their parts of one checkpoint and read their shares of it,
 * whatever the split. */
#include "checkpoint/load_shared.h"
#include "checkpoint/manifest.h"
#include "checkpoint/new_folder.h"
#include "checkpoint/shares.h"
#include "comm/rank_threads.h"
#include "comm/transports.h"
#include "test.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COLUMNS = 1024, MOST_ROWS = 1024, N_MATRICES = 4, N_TENSORS = N_MATRICES + 2 };

typedef enum Split { BY_ROWS, BY_COLUMNS, BY_ZIGZAG, COPIES, BY_STAGES, N_SPLITS } Split;
static const char *const split_names[] = { "rows", "columns", "zigzag", "copies", "stages" };

/* What the ranks do in a test. */
typedef struct Try {
    const char *path;
    CheckpointLayout layout;
    Split split;
    int64_t rows; /* of each matrix */
    int64_t bytes_read[MAX_RANKS];
} Try;

static float number(int64_t tensor, int64_t row, int64_t column)
{
    return (float)(tensor * 4000000 + row * COLUMNS + column);
}

/* Numbers of the whole if `filled`, else zeros. */
static StateTensor part(Arena *a, const Comm *c, const Try *try, int64_t tensor, bool filled)
{
    const Split split = try->split;
    StateTensor t = { .name = arena_printf(a, "app.model.x%d", (int)tensor),
                      .whole = { try->rows, COLUMNS },
                      .part = { .dtype = F32, .n_dims = 2, .size = { try->rows, COLUMNS } } };
    const int d = split == BY_COLUMNS;
    if (split != COPIES && split != BY_STAGES && c->size > 1) {
        Part *p = NEW(a, Part);
        *p = (Part){ .whole = t.whole[d], .n_parts = c->size, .index = c->rank };
        if (split == BY_ZIGZAG) p->layout = ZIGZAG;
        t.part.part[d] = p;
        t.part.size[d] = t.whole[d] / c->size;
    }
    float *at = arena_alloc(a, tensor_bytes(&t.part));
    t.part.data = at;
    for (int64_t i = 0; i < t.part.size[0]; i++)
        for (int64_t k = 0; k < t.part.size[1]; k++)
            *at++ = filled
                        ? number(tensor, global_index(&t.part, 0, i), global_index(&t.part, 1, k))
                        : 0;
    return t;
}

/* Matrices, which stages have one each of, and two tensors that all ranks have alike. */
static int64_t state_of(Arena *a, const Comm *c, const Try *try, bool filled, StateTensor *state)
{
    int64_t n = 0;
    float *norm = NEW_N(a, float, COLUMNS), *step = NEW(a, float);
    for (int64_t i = 0; i < N_MATRICES; i++)
        if (try->split != BY_STAGES || i % c->size == c->rank)
            state[n++] = part(a, c, try, i, filled);
    for (int k = 0; k < COLUMNS && filled; k++) norm[k] = number(7, 0, k);
    *step = filled ? 42 : 0;
    state[n++] = (StateTensor){ .name = "app.model.norm",
                                .whole = { COLUMNS },
                                .part = { norm, F32, .n_dims = 1, .size = { COLUMNS } } };
    state[n++] = (StateTensor){ .name = "app.optimizer.state.norm.step", .part = { step, F32 } };
    return n;
}

static Error *save(Comm *c, void *arg)
{
    const Try *t = arg;
    Arena *a = arena_new();
    StateTensor state[N_TENSORS];
    Shares *shares;
    const int64_t n = state_of(a, c, t, true, state);
    CheckpointContent content = {
        .layout = t->layout, .state = state, .n = n, .progress = "{\"seen_steps\": 3}"
    };
    static const CheckpointFile note = { "note", "kept" };
    Error *e = shares_plan(a, c, state, n, &shares);
    content.shares = shares;
    if (!c->rank) content.file = &note, content.n_files = 1;
    if (!e) e = checkpoint_write(t->path, &content);
    arena_free(a);
    return e;
}

static Error *load(Comm *c, void *arg)
{
    Try *t = arg;
    Arena *a = arena_new();
    StateTensor want[N_TENSORS], got[N_TENSORS];
    CheckpointReader *r = NULL;
    const int64_t n = state_of(a, c, t, true, want);
    state_of(a, c, t, false, got);
    Error *e = checkpoint_open(a, t->path, &r);
    if (!e) e = checkpoint_check(r, got, n, NULL, NULL);
    if (!e) e = checkpoint_load_shared(r, got, n, c);
    for (int64_t i = 0; !e && i < n; i++)
        if (memcmp(got[i].part.data, want[i].part.data, tensor_bytes(&want[i].part)) != 0)
            e = error_new("rank %d of %d: %s has other numbers", c->rank, c->size, got[i].name);
    if (!e) t->bytes_read[c->rank] = r->bytes_read;
    arena_free(a);
    return e;
}

static int count_files(Arena *a, const char *path, const char *form)
{
    int n = 0;
    while (file_exists(path_join(a, path, arena_printf(a, form, n)))) n++;
    return n;
}

TEST(ranks_write_their_parts_and_any_other_ranks_read_them)
{
    static const int numbers[] = { 1, 2, 4 };
    Arena *a = arena_new();
    for (int layout = LAYOUT_NATIVE; layout <= LAYOUT_DCP; layout++) {
        for (int split = 0; split < N_SPLITS; split++) {
            Try t = { .path = path_join(a, test_folder(), split_names[split]),
                      .layout = (CheckpointLayout)layout,
                      .rows = 64,
                      .split = (Split)split };
            const int n = numbers[1 + split % 2];
            on_ranks(n, save, &t, NULL);
            assert_int_equal(
                count_files(a, t.path, layout ? "__%d_0.distcp" : "part_%d.safetensors"), n);
            assert_true(file_exists(path_join(a, t.path, "note")));
            CheckpointReader *r;
            assert_no_error(checkpoint_open(a, t.path, &r));
            assert_no_error(checkpoint_verify(r));
            assert_int_equal(r->n_entries, N_TENSORS);
            for (int other = 0; other < N_SPLITS; other++) {
                t.split = (Split)other;
                on_ranks(numbers[(split + other) % 3], load, &t, NULL);
            }
            assert_no_error(remove_tree(t.path));
        }
    }
    arena_free(a);
}

/* Each with what it has to write, and what several have is there once. */
TEST(ranks_that_have_the_same_share_the_writing)
{
    Arena *a = arena_new();
    Try t = { .path = path_join(a, test_folder(), "x"), .rows = MOST_ROWS, .split = COPIES };
    on_ranks(4, save, &t, NULL);
    int64_t total = 0;
    for (int r = 0; r < 4; r++) {
        int64_t bytes;
        assert_no_error(
            file_size(path_join(a, t.path, arena_printf(a, "part_%d.safetensors", r)), &bytes));
        assert_in_range(bytes, MOST_ROWS * COLUMNS * 4, MOST_ROWS * COLUMNS * 4 + 20000);
        total += bytes;
    }
    assert_in_range(total, 4 * MOST_ROWS * COLUMNS * 4, 4 * MOST_ROWS * COLUMNS * 4 + 40000);
    arena_free(a);
}

TEST(ranks_read_no_more_than_their_share)
{
    Arena *a = arena_new();
    for (int layout = LAYOUT_NATIVE; layout <= LAYOUT_DCP; layout++) {
        Try t = { .path = path_join(a, test_folder(), "x"),
                  .layout = (CheckpointLayout)layout,
                  .rows = MOST_ROWS };
        on_ranks(1, save, &t, NULL);
        for (int n = 2; n <= 8; n *= 2) {
            for (int split = BY_COLUMNS; split <= COPIES; split += COPIES - BY_COLUMNS) {
                const int64_t share = (int64_t)N_MATRICES * MOST_ROWS * COLUMNS * 4 / n;
                t.split = (Split)split;
                on_ranks(n, load, &t, NULL);
                for (int r = 0; r < n; r++) assert_in_range(t.bytes_read[r], 0, share + share / 20);
            }
        }
    }
    arena_free(a);
}

static Error *fetch_nothing(void *context, int64_t i, const void **data)
{
    const Comm *c = context;
    (void)i;
    (void)data;
    return error_new("rank %d cannot read its memory", c->rank);
}

static Error *save_failing(Comm *c, void *arg)
{
    const Try *t = arg;
    Arena *a = arena_new();
    StateTensor state[N_TENSORS];
    Shares *shares;
    const int64_t n = state_of(a, c, t, true, state);
    Error *e = shares_plan(a, c, state, n, &shares);
    const CheckpointContent content = { .layout = t->layout,
                                        .state = state,
                                        .n = n,
                                        .shares = shares,
                                        .fetch = c->rank == 1 ? fetch_nothing : NULL,
                                        .context = c,
                                        .progress = "{}" };
    if (!e) e = checkpoint_write(t->path, &content);
    arena_free(a);
    return e;
}

TEST(a_rank_that_cannot_write_leaves_the_former_checkpoint)
{
    Arena *a = arena_new();
    Try t = { .path = path_join(a, test_folder(), "x"), .rows = 64, .split = BY_ROWS };
    Error *error[MAX_RANKS];
    on_ranks(2, save, &t, NULL);
    on_ranks(2, save_failing, &t, error);
    assert_error_has(error[1], "rank 1 cannot read its memory");
    assert_non_null(error[0]);
    assert_string_equal(error_text(error[0]), "");
    error_free(error[0]);
    assert_false(file_exists(folder_temporary(a, t.path)));
    on_ranks(2, load, &t, NULL);
    arena_free(a);
}

TEST(damage_is_found_by_the_rank_that_reads_it_and_ends_all)
{
    Arena *a = arena_new();
    Try t = { .path = path_join(a, test_folder(), "x"), .rows = 64, .split = BY_ROWS };
    const char *file = path_join(a, t.path, "part_3.safetensors");
    Error *error[MAX_RANKS];
    Str bytes;
    on_ranks(4, save, &t, NULL);
    assert_no_error(file_read(a, file, &bytes));
    ((char *)bytes.ptr)[bytes.len - 500] ^= 4;
    assert_no_error(file_write(file, bytes.ptr, bytes.len));
    t.split = BY_COLUMNS;
    on_ranks(4, load, &t, error);
    int n_told = 0;
    for (int r = 0; r < 4; r++) {
        assert_non_null(error[r]);
        n_told += strstr(error_text(error[r]), "part_3.safetensors: tensor \"app.model.") != NULL;
        error_free(error[r]);
    }
    assert_int_equal(n_told, 1);
    assert_int_equal(unlink(file), 0);
    on_ranks(2, load, &t, error);
    assert_true(strstr(error_text(error[0]), "part_3") || strstr(error_text(error[1]), "part_3"));
    for (int r = 0; r < 2; r++) error_free(error[r]);
    arena_free(a);
}
