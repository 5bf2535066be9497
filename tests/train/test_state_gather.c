/* test_state_gather.c - rank 0 puts tensors together one at a time, whatever the split. */
#include "comm/rank_threads.h"
#include "test.h"
#include "train/state_gather.h"
#include <string.h>

enum { RANKS = 4, N_TENSORS = 12, ROWS = 32, COLUMNS = 16, WHOLE_BYTES = ROWS * COLUMNS * 4 };

/* Tensors of all splits: by rows, by columns, in zig-zag, the same on all ranks, on one rank. */
typedef enum Split { BY_ROWS, BY_COLUMNS, BY_ZIGZAG, COPIES, BY_STAGES, N_SPLITS } Split;

typedef struct Gathering {
    int fails_on; /* this rank cannot read its numbers; -1: none */
    int64_t most; /* what rank 0 held */
} Gathering;

static float number(int64_t tensor, int64_t row, int64_t column)
{
    return (float)((tensor * ROWS + row) * COLUMNS + column);
}

static StateTensor part(Arena *a, const Comm *c, int64_t tensor, Split split)
{
    StateTensor t = { .name = arena_printf(a, "x%d", (int)tensor),
                      .whole = { ROWS, COLUMNS },
                      .part = { .dtype = F32, .n_dims = 2, .size = { ROWS, COLUMNS } } };
    const int d = split == BY_COLUMNS;
    if (split < COPIES) {
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
            *at++ = number(tensor, global_index(&t.part, 0, i), global_index(&t.part, 1, k));
    return t;
}

static int64_t state_of(Arena *a, const Comm *c, StateTensor *state)
{
    int64_t n = 0;
    for (int64_t i = 0; i < N_TENSORS; i++) {
        const Split split = (Split)(i % N_SPLITS);
        if (split != BY_STAGES || i % c->size == c->rank) state[n++] = part(a, c, i, split);
    }
    return n;
}

typedef struct Own {
    const StateTensor *state;
    const Comm *comm;
    const Gathering *gathering;
} Own;

static Error *numbers_of(void *context, int64_t i, const void **data)
{
    const Own *own = context;
    *data = own->state[i].part.data;
    if (own->comm->rank != own->gathering->fails_on) return NULL;
    return error_new("rank %d cannot read its memory", own->comm->rank);
}

static Error *check_whole(StateGather *g, const StateTensor *t, int64_t i, Own *own)
{
    const void *data;
    const int64_t tensor = t->name[1] - '0' + (t->name[2] ? 9 + t->name[2] - '0' : 0);
    TRY(state_gather_fetch(g, numbers_of, own, i, &data));
    for (int64_t k = 0; k < ROWS; k++)
        for (int64_t j = 0; j < COLUMNS; j++)
            if (((const float *)data)[k * COLUMNS + j] != number(tensor, k, j))
                return error_new("%s has another number in row %d", t->name, (int)k);
    return NULL;
}

static Error *take_all(StateGather *g, Own *own)
{
    int64_t n;
    const StateTensor *whole = state_gather_whole(g, &n);
    Error *e = n == N_TENSORS ? NULL : error_new("%d tensors", (int)n);
    for (int64_t i = 0; !e && i < n; i++) e = check_whole(g, &whole[i], i, own);
    return error_join(e, state_gather_end(g));
}

static Error *gather(Comm *c, void *arg)
{
    Gathering *x = arg;
    Arena *a = arena_new();
    StateTensor state[N_TENSORS];
    Own own = { .state = state, .comm = c, .gathering = x };
    StateGather *g = NULL;
    Error *e = state_gather_new(a, c, state, state_of(a, c, state), &g);
    if (!e) e = c->rank ? state_gather_serve(g, numbers_of, &own) : take_all(g, &own);
    if (!e && !c->rank) x->most = state_gather_most(g);
    arena_free(a);
    return e;
}

TEST(a_state_is_gathered_with_room_for_one_tensor_and_one_part)
{
    Gathering x = { .fails_on = -1 };
    on_ranks(RANKS, gather, &x, NULL);
    assert_in_range(x.most, WHOLE_BYTES, WHOLE_BYTES + WHOLE_BYTES / RANKS);
}

TEST(a_rank_that_cannot_read_its_numbers_ends_the_gathering_and_says_why)
{
    Gathering x = { .fails_on = 2 };
    Error *error[MAX_RANKS];
    on_ranks(RANKS, gather, &x, error);
    assert_error_has(error[2], "rank 2 cannot read its memory");
    assert_non_null(error[0]);
    assert_string_equal(error_text(error[0]), "");
    assert_null(error[1]);
    assert_null(error[3]);
    error_free(error[0]);
}
