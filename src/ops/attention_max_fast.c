/* attention_max_fast.c - the largest logit of each head, by the tiles of attention.
 *
 * A task is some row blocks of one head of keys; it leaves the maxima of its query heads, which are
 * joined at the end. */
#include "ops/attention_tiles.h"
#include "ops/kernels.h"

enum { ROW_BLOCKS_PER_TASK = 16 };

typedef struct Largest {
    Heads h;
    int64_t n_tasks_per_head;
    float *of_task; /* [task][repeat] */
    char *rooms;
    size_t room_bytes;
} Largest;

/* Scratch of one thread. */
typedef struct Room {
    Word *keys, *rows, *columns; /* [n_key, padded][width], [QUERIES][width], [width][QUERIES] */
    float *scores;               /* [KEYS][QUERIES] */
    void *places;
} Room;

static int64_t key_words(const Heads *h)
{
    return (h->n_key + KEYS_BEYOND) * h->width;
}

static size_t room_bytes(const Heads *h)
{
    const int64_t words = key_words(h) + 2 * QUERIES * h->width + KEYS * QUERIES;
    return sizeof(float) * (size_t)words + key_places_bytes(h);
}

static Room room_of(const Largest *x, int thread)
{
    const Heads *h = &x->h;
    Room r = { .keys = (Word *)(x->rooms + x->room_bytes * (size_t)thread) };
    r.rows = r.keys + key_words(h);
    r.columns = r.rows + QUERIES * h->width;
    r.scores = (float *)r.columns + QUERIES * h->width;
    r.places = r.scores + KEYS * QUERIES;
    return r;
}

static int64_t n_tasks(const Largest *x)
{
    return x->h.n_batch * x->h.n_group * x->n_tasks_per_head;
}

/* The heads of a launch, and how its scratch is laid out. */
static Largest largest_of(const Launch *l)
{
    Largest x = { .h = heads_of(l) };
    heads_take_pairs(&x.h, NULL);
    x.n_tasks_per_head = chunk_count(x.h.n_row_blocks, ROW_BLOCKS_PER_TASK);
    x.of_task = l->scratch;
    x.room_bytes = (room_bytes(&x.h) + 63) / 64 * 64;
    return x;
}

static size_t results_bytes(const Largest *x)
{
    return (sizeof(float) * (size_t)(n_tasks(x) * x->h.n_repeat) + 63) / 64 * 64;
}

/* Rows [first, first + n) against the keys of one block. */
INLINE void raise_block(const Heads *h, const Room *room, const KeyPlaces *places,
                        const RowPlaces *rows, const Seen *seen, bool pairs, Vec largest[QV])
{
    const Word *keys = room->keys + seen->from * h->width;
    (pairs ? score_keys_pairs : score_keys)(h->steps, keys, h->width, seen->to - seen->from,
                                            room->columns, room->scores);
    mask_scores(h, places, rows, seen, room->scores + (seen->masked - seen->from) * QUERIES);
    for (int64_t j = 0; j < seen->to - seen->from; j++)
        for (int v = 0; v < QV; v++)
            largest[v] = vec_max(largest[v], vec_load(room->scores + j * QUERIES + v * LANES));
}

INLINE void raise_rows(const Heads *h, const Room *room, const KeyPlaces *places, int64_t b,
                       int64_t g, int64_t first, bool pairs, float *most)
{
    const int64_t n = h->n_rows - first < QUERIES ? h->n_rows - first : QUERIES;
    const float to_logit = (float)(log_2 * score_scale(h));
    float of_row[QUERIES];
    RowPlaces rows;
    Vec largest[QV];
    row_places(h, b, g, first, n, &rows);
    copy_rows(h, h->q, b, g, first, n, room->rows, pairs);
    transpose_rows(h, room->rows, h->query_scale, room->columns, pairs);
    for (int v = 0; v < QV; v++) largest[v] = vec_set(-INFINITY);
    for (int64_t block = 0; block < h->n_key_blocks; block++) {
        const Seen seen = keys_seen(h, places, &rows, block);
        if (seen.to > seen.from) raise_block(h, room, places, &rows, &seen, pairs, largest);
    }
    for (int v = 0; v < QV; v++) vec_store(of_row + v * LANES, largest[v]);
    for (int64_t i = 0; i < n; i++) {
        float *to = &most[(first + i) % h->n_repeat];
        if (of_row[i] * to_logit > *to) *to = of_row[i] * to_logit;
    }
}

NOINLINE void raise_floats(const Heads *h, const Room *room, const KeyPlaces *places, int64_t b,
                           int64_t g, int64_t first, float *most)
{
    raise_rows(h, room, places, b, g, first, false, most);
}

NOINLINE void raise_pairs(const Heads *h, const Room *room, const KeyPlaces *places, int64_t b,
                          int64_t g, int64_t first, float *most)
{
    raise_rows(h, room, places, b, g, first, true, most);
}

/* Task i is of key head i / n_tasks_per_head, all batches in turn. */
static void largest_task(void *arg, int64_t i, int thread)
{
    const Largest *x = arg;
    const Heads *h = &x->h;
    const Room room = room_of(x, thread);
    const int64_t head = i / x->n_tasks_per_head, b = head / h->n_group, g = head % h->n_group;
    float *most = x->of_task + i * h->n_repeat;
    const KeyPlaces places = key_places(h, room.places, b);
    int64_t from, to;
    for (int64_t r = 0; r < h->n_repeat; r++) most[r] = -INFINITY;
    copy_keys(h, h->k, b, g, room.keys, h->pairs);
    split_range(h->n_row_blocks, x->n_tasks_per_head, i % x->n_tasks_per_head, &from, &to);
    for (int64_t block = from; block < to; block++)
        (h->pairs ? raise_pairs : raise_floats)(h, &room, &places, b, g, block * QUERIES, most);
}

static int run(const Launch *l)
{
    Largest x = largest_of(l);
    const Heads *h = &x.h;
    float *out = l->out[0].data;
    x.rooms = (char *)l->scratch + results_bytes(&x);
    pool_run(l->stream->pool, n_tasks(&x), largest_task, &x);
    for (int64_t k = 0; k < h->n_group * h->n_repeat; k++) out[k] = -INFINITY;
    for (int64_t i = 0; i < n_tasks(&x); i++)
        for (int64_t r = 0; r < h->n_repeat; r++) {
            float *to = &out[i / x.n_tasks_per_head % h->n_group * h->n_repeat + r];
            *to = fmaxf(*to, x.of_task[i * h->n_repeat + r]);
        }
    return KERNEL_OK;
}

static size_t scratch(const Launch *l, int n_threads)
{
    const Largest x = largest_of(l);
    return results_bytes(&x) + (size_t)n_threads * x.room_bytes;
}

static bool serves(const Launch *l)
{
    return floats_fit(l) && tensor_count(&l->in[0]) > 0 && tensor_count(&l->in[1]) > 0;
}

const KernelDef TABLE[] = {
    { "attention_max", "cpu", "any any any>f32", LEVEL, run, scratch, serves },
    { "attention_max", "cpu", "any any any i32 i32>f32", LEVEL, run, scratch, serves },
    { 0 },
};
