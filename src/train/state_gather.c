/* state_gather.c - rank by rank, rank 0 is told what there is, and takes what it does not have yet.
 */
#include "train/state_gather.h"
#include "base/map.h"
#include <string.h>

enum { SIZE, OFFERS, WANTED, NUMBERS }; /* tags */

/* What a rank has of a tensor; its name and its rectangles follow. */
typedef struct Offer {
    int64_t n_name, n_boxes, bytes;
    int64_t whole[MAX_DIMS], size[MAX_DIMS];
    int dtype, n_dims;
} Offer;

/* A tensor that rank 0 puts together. */
typedef struct Whole {
    StateTensor tensor;
    PartBox *box; /* what it has of it */
    int64_t n_boxes, cap;
} Whole;

typedef struct Gather {
    Arena *arena;
    Comm *world;
    bool with_numbers;
    Map *whole; /* by name */
} Gather;

/* ---- messages ---- */

static Error *send_to(const Gather *g, int peer, int tag, void *data, size_t bytes)
{
    const Transfer t = { .peer = peer, .tag = tag, .data = data, .bytes = bytes };
    return bytes ? g->world->exchange(g->world, &t, 1, NULL, 0, NULL) : NULL;
}

static Error *receive_from(const Gather *g, int peer, int tag, void *data, size_t bytes)
{
    const Transfer t = { .peer = peer, .tag = tag, .data = data, .bytes = bytes };
    return bytes ? g->world->exchange(g->world, NULL, 0, &t, 1, NULL) : NULL;
}

/* ---- the rank that has parts ---- */

static void put_offer(Arena *a, const StateTensor *t, Text *out)
{
    PartBox *box;
    Offer o = { .n_name = (int64_t)strlen(t->name),
                .n_boxes = part_boxes(a, t->whole, &t->part, &box),
                .bytes = (int64_t)tensor_bytes(&t->part),
                .dtype = t->part.dtype,
                .n_dims = t->part.n_dims };
    memcpy(o.whole, t->whole, sizeof o.whole);
    memcpy(o.size, t->part.size, sizeof o.size);
    text_add(out, &o, sizeof o);
    text_add(out, t->name, strlen(t->name));
    text_add(out, box, sizeof *box * (size_t)o.n_boxes);
}

static Error *give_wanted(const Gather *g, const StateTensor *state, int64_t n, bool *wanted)
{
    TRY(receive_from(g, 0, WANTED, wanted, sizeof *wanted * (size_t)n));
    for (int64_t i = 0; i < n; i++)
        if (wanted[i])
            TRY(send_to(g, 0, NUMBERS, state[i].part.data, tensor_bytes(&state[i].part)));
    return NULL;
}

static Error *give(const Gather *g, const StateTensor *state, int64_t n)
{
    Text offers = { 0 };
    Arena *a = arena_new();
    for (int64_t i = 0; i < n; i++) put_offer(a, &state[i], &offers);
    int64_t size[] = { n, (int64_t)offers.len };
    Error *e = send_to(g, 0, SIZE, size, sizeof size);
    if (!e) e = send_to(g, 0, OFFERS, offers.ptr, offers.len);
    if (!e && g->with_numbers) e = give_wanted(g, state, n, NEW_N(a, bool, n));
    text_free(&offers);
    arena_free(a);
    return e;
}

/* ---- rank 0 ---- */

static Whole *add(const Gather *g, const char *name, int dtype, int n_dims, const int64_t *whole)
{
    Whole *w = NEW(g->arena, Whole);
    *w = (Whole){ .tensor = { .name = name, .part = { .dtype = dtype, .n_dims = n_dims } } };
    memcpy(w->tensor.whole, whole, sizeof w->tensor.whole);
    memcpy(w->tensor.part.size, whole, sizeof w->tensor.part.size);
    map_set(g->whole, str_of(name), w);
    return w;
}

static bool has(const Whole *w, const PartBox *b)
{
    for (int64_t i = 0; i < w->n_boxes; i++)
        if (box_contains(&w->box[i].whole, &b->whole)) return true;
    return false;
}

/* Whether any of it is new; it counts as there from now on. */
static bool take_boxes(const Gather *g, Whole *w, const PartBox *box, int64_t n)
{
    bool is_new = false;
    for (int64_t i = 0; i < n; i++) {
        if (has(w, &box[i])) continue;
        w->box = arena_grow(g->arena, w->box, w->n_boxes, &w->cap, sizeof *w->box);
        w->box[w->n_boxes++] = box[i];
        is_new = true;
    }
    return is_new;
}

static void put_numbers(const Gather *g, Whole *w, const int64_t *size, const PartBox *box,
                        int64_t n, const void *data)
{
    const size_t element = dtype_size(w->tensor.part.dtype);
    const Box part = box_whole(w->tensor.part.n_dims, size),
              whole = box_whole(w->tensor.part.n_dims, w->tensor.whole);
    if (!w->tensor.part.data)
        w->tensor.part.data = arena_alloc(g->arena, tensor_bytes(&w->tensor.part));
    Arena *a = arena_new();
    for (int64_t i = 0; i < n; i++) {
        void *dense = arena_alloc(a, (size_t)box_count(&box[i].local) * element);
        box_copy(&box[i].local, element, &part, data, &box[i].local, dense);
        box_copy(&box[i].whole, element, &box[i].whole, dense, &whole, w->tensor.part.data);
    }
    arena_free(a);
}

/* What rank 0 has itself; a whole tensor stays where it is. */
static void take_own(const Gather *g, const StateTensor *t)
{
    PartBox *box;
    Whole *w = add(g, t->name, t->part.dtype, t->part.n_dims, t->whole);
    int64_t n = part_boxes(g->arena, t->whole, &t->part, &box);
    bool is_whole = true;
    for (int d = 0; d < t->part.n_dims; d++) is_whole &= !t->part.part[d];
    take_boxes(g, w, box, n);
    if (!g->with_numbers) return;
    if (is_whole)
        w->tensor.part.data = t->part.data;
    else
        put_numbers(g, w, t->part.size, box, n, t->part.data);
}

/* One tensor that another rank has. */
typedef struct Read {
    Offer offer;
    Whole *whole;
    const PartBox *box;
    bool is_wanted;
} Read;

static Error *read_offer(const Gather *g, const char **at, Read *out)
{
    memcpy(&out->offer, *at, sizeof out->offer);
    *at += sizeof out->offer;
    const Offer *o = &out->offer;
    const char *name = arena_string_n(g->arena, *at, (size_t)o->n_name);
    *at += o->n_name;
    out->box = arena_copy(g->arena, *at, sizeof *out->box * (size_t)o->n_boxes);
    *at += sizeof *out->box * (size_t)o->n_boxes;
    Whole *w = map_get(g->whole, str_of(name));
    if (!w) w = add(g, name, o->dtype, o->n_dims, o->whole);
    const Tensor *t = &w->tensor.part;
    if ((int)t->dtype != o->dtype || t->n_dims != o->n_dims ||
        memcmp(w->tensor.whole, o->whole, sizeof o->whole) != 0)
        return error_new("%s has another type or shape on another rank", name);
    out->whole = w;
    out->is_wanted = take_boxes(g, w, out->box, o->n_boxes);
    return NULL;
}

static Error *take_numbers(const Gather *g, int rank, const Read *read, int64_t n)
{
    Arena *a = arena_new();
    bool *wanted = NEW_N(a, bool, n);
    for (int64_t i = 0; i < n; i++) wanted[i] = read[i].is_wanted;
    Error *e = send_to(g, rank, WANTED, wanted, sizeof *wanted * (size_t)n);
    for (int64_t i = 0; !e && i < n; i++) {
        const Offer *o = &read[i].offer;
        if (!wanted[i]) continue;
        Arena *scratch = arena_new();
        void *data = arena_alloc(scratch, (size_t)o->bytes);
        e = receive_from(g, rank, NUMBERS, data, (size_t)o->bytes);
        if (!e) put_numbers(g, read[i].whole, o->size, read[i].box, o->n_boxes, data);
        arena_free(scratch);
    }
    arena_free(a);
    return e;
}

static Error *take(const Gather *g, int rank)
{
    int64_t size[2];
    TRY(receive_from(g, rank, SIZE, size, sizeof size));
    char *offers = arena_alloc(g->arena, (size_t)size[1]);
    TRY(receive_from(g, rank, OFFERS, offers, (size_t)size[1]));
    Read *read = NEW_N(g->arena, Read, size[0]);
    const char *at = offers;
    for (int64_t i = 0; i < size[0]; i++) TRY(read_offer(g, &at, &read[i]));
    return g->with_numbers ? take_numbers(g, rank, read, size[0]) : NULL;
}

static Error *take_all(const Gather *g, StateTensor **state, int64_t *n)
{
    for (int64_t i = 0; i < *n; i++) take_own(g, &(*state)[i]);
    for (int r = 1; r < g->world->size; r++) TRY(take(g, r));
    *n = g->whole->n;
    *state = NEW_N(g->arena, StateTensor, *n);
    for (int64_t i = 0; i < *n; i++) (*state)[i] = ((Whole *)g->whole->entry[i].value)->tensor;
    return NULL;
}

Error *state_gather(Arena *a, Comm *world, StateTensor **state, int64_t *n, bool with_numbers)
{
    const Gather g = {
        .arena = a, .world = world, .with_numbers = with_numbers, .whole = map_new(a)
    };
    return world->rank ? give(&g, *state, *n) : take_all(&g, state, n);
}
