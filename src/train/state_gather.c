/* state_gather.c - rank 0 is told once what there is, and asks for it tensor by tensor. */
#include "train/state_gather.h"
#include "base/map.h"
#include <stdlib.h>
#include <string.h>

enum { SIZE, OFFERS, WANTED, REQUEST, ANSWER, NUMBERS }; /* tags */
enum { NO_MORE = -1 };                                   /* a request */

/* What a rank has of a tensor; its name and its rectangles follow. */
typedef struct Offer {
    int64_t n_name, n_boxes, bytes;
    int64_t whole[MAX_DIMS], size[MAX_DIMS];
    int dtype, n_dims;
} Offer;

/* What rank 0 takes of a tensor from one rank. */
typedef struct Source {
    int rank;
    int64_t index; /* in that rank's state */
    int64_t size[MAX_DIMS], bytes;
    const PartBox *box;
    int64_t n_boxes;
} Source;

/* A tensor that rank 0 puts together. */
typedef struct Whole {
    StateTensor tensor;
    Source *source;
    int64_t n_sources, cap;
} Whole;

struct StateGather {
    Arena *arena;
    Comm *group;
    const StateTensor *state; /* of this rank */
    int64_t n;
    bool *is_wanted;    /* of each, by rank 0 */
    Map *whole_by_name; /* rank 0 */
    StateTensor *whole;
    Arena *numbers; /* of one tensor */
    int64_t most;   /* bytes of them */
};

/* ---- messages ---- */

static Error *send_to(const StateGather *g, int peer, int tag, void *data, size_t bytes)
{
    const Transfer t = { .peer = peer, .tag = tag, .data = data, .bytes = bytes };
    return bytes ? g->group->exchange(g->group, &t, 1, NULL, 0, NULL) : NULL;
}

static Error *receive_from(const StateGather *g, int peer, int tag, void *data, size_t bytes)
{
    const Transfer t = { .peer = peer, .tag = tag, .data = data, .bytes = bytes };
    return bytes ? g->group->exchange(g->group, NULL, 0, &t, 1, NULL) : NULL;
}

/* ---- who has what: the ranks that have parts ---- */

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

static Error *offer(const StateGather *g, Arena *a, Text *offers)
{
    for (int64_t i = 0; i < g->n; i++) put_offer(a, &g->state[i], offers);
    int64_t size[] = { g->n, (int64_t)offers->len };
    TRY(send_to(g, 0, SIZE, size, sizeof size));
    TRY(send_to(g, 0, OFFERS, offers->ptr, offers->len));
    return receive_from(g, 0, WANTED, g->is_wanted, sizeof *g->is_wanted * (size_t)g->n);
}

/* ---- rank 0 ---- */

static Whole *add(const StateGather *g, const char *name, int dtype, int n_dims,
                  const int64_t *whole)
{
    Whole *w = NEW(g->arena, Whole);
    *w = (Whole){ .tensor = { .name = name, .part = { .dtype = dtype, .n_dims = n_dims } } };
    memcpy(w->tensor.whole, whole, sizeof w->tensor.whole);
    memcpy(w->tensor.part.size, whole, sizeof w->tensor.part.size);
    map_set(g->whole_by_name, str_of(name), w);
    return w;
}

static bool has(const Whole *w, const PartBox *b)
{
    for (int64_t i = 0; i < w->n_sources; i++)
        for (int64_t k = 0; k < w->source[i].n_boxes; k++)
            if (box_contains(&w->source[i].box[k].whole, &b->whole)) return true;
    return false;
}

/* Whether any of it is new; it is taken from there then. */
static bool take_source(const StateGather *g, Whole *w, const Source *s)
{
    bool is_new = false;
    for (int64_t k = 0; k < s->n_boxes; k++) is_new |= !has(w, &s->box[k]);
    if (!is_new) return false;
    w->source = arena_grow(g->arena, w->source, w->n_sources, &w->cap, sizeof *w->source);
    w->source[w->n_sources++] = *s;
    return true;
}

static void take_own(const StateGather *g, int64_t i)
{
    const StateTensor *t = &g->state[i];
    PartBox *box;
    Source s = { .index = i, .bytes = (int64_t)tensor_bytes(&t->part) };
    Whole *w = add(g, t->name, t->part.dtype, t->part.n_dims, t->whole);
    s.n_boxes = part_boxes(g->arena, t->whole, &t->part, &box);
    s.box = box;
    memcpy(s.size, t->part.size, sizeof s.size);
    g->is_wanted[i] = take_source(g, w, &s);
}

static Error *read_offer(const StateGather *g, const char **at, Source *s, bool *is_wanted)
{
    Offer o;
    memcpy(&o, *at, sizeof o);
    *at += sizeof o;
    const char *name = arena_string_n(g->arena, *at, (size_t)o.n_name);
    *at += o.n_name;
    s->box = arena_copy(g->arena, *at, sizeof *s->box * (size_t)o.n_boxes);
    *at += sizeof *s->box * (size_t)o.n_boxes;
    s->n_boxes = o.n_boxes;
    s->bytes = o.bytes;
    memcpy(s->size, o.size, sizeof s->size);
    Whole *w = map_get(g->whole_by_name, str_of(name));
    if (!w) w = add(g, name, o.dtype, o.n_dims, o.whole);
    const Tensor *t = &w->tensor.part;
    if ((int)t->dtype != o.dtype || t->n_dims != o.n_dims ||
        memcmp(w->tensor.whole, o.whole, sizeof o.whole) != 0)
        return error_new("%s has another type or shape on another rank", name);
    *is_wanted = take_source(g, w, s);
    return NULL;
}

static Error *take_offers(const StateGather *g, Arena *a, int rank)
{
    int64_t size[2] = { 0 };
    TRY(receive_from(g, rank, SIZE, size, sizeof size));
    char *offers = arena_alloc(a, (size_t)size[1] + 1);
    TRY(receive_from(g, rank, OFFERS, offers, (size_t)size[1]));
    bool *wanted = NEW_N(a, bool, size[0]);
    const char *at = offers;
    for (int64_t i = 0; i < size[0]; i++) {
        Source s = { .rank = rank, .index = i };
        TRY(read_offer(g, &at, &s, &wanted[i]));
    }
    return send_to(g, rank, WANTED, wanted, sizeof *wanted * (size_t)size[0]);
}

static Error *take_all(StateGather *g, Arena *a)
{
    for (int64_t i = 0; i < g->n; i++) take_own(g, i);
    for (int r = 1; r < g->group->size; r++) TRY(take_offers(g, a, r));
    g->whole = NEW_N(g->arena, StateTensor, g->whole_by_name->n);
    for (int64_t i = 0; i < g->whole_by_name->n; i++)
        g->whole[i] = ((Whole *)g->whole_by_name->entry[i].value)->tensor;
    return NULL;
}

static void free_numbers(void *numbers)
{
    arena_free(numbers);
}

Error *state_gather_new(Arena *a, Comm *group, const StateTensor *state, int64_t n,
                        StateGather **out)
{
    StateGather *g = *out = NEW(a, StateGather);
    *g = (StateGather){ .arena = a,
                        .group = group,
                        .state = state,
                        .n = n,
                        .is_wanted = NEW_N(a, bool, n),
                        .whole_by_name = map_new(a),
                        .numbers = arena_new() };
    arena_on_free(a, free_numbers, g->numbers);
    Text offers = { 0 };
    Arena *scratch = arena_new();
    Error *e = group->rank ? offer(g, scratch, &offers) : take_all(g, scratch);
    text_free(&offers);
    arena_free(scratch);
    return e;
}

const StateTensor *state_gather_whole(const StateGather *g, int64_t *n)
{
    *n = g->whole_by_name->n;
    return g->whole;
}

const bool *state_gather_wanted(const StateGather *g)
{
    return g->is_wanted;
}

int64_t state_gather_most(const StateGather *g)
{
    return g->most;
}

/* ---- numbers ---- */

/* The part of one rank into its place in the whole. */
static void put_part(const Whole *w, const Source *s, const void *data, void *to)
{
    const int n_dims = w->tensor.part.n_dims;
    const size_t element = dtype_size(w->tensor.part.dtype);
    const Box whole = box_whole(n_dims, w->tensor.whole);
    for (int64_t i = 0; i < s->n_boxes; i++) {
        const PartBox *b = &s->box[i];
        Box part = box_whole(n_dims, s->size); /* as it lies around this box of the whole */
        for (int d = 0; d < n_dims; d++) part.start[d] = b->whole.start[d] - b->local.start[d];
        box_copy(&b->whole, element, &part, data, &whole, to);
    }
}

/* `room` holds what another rank sends. */
static Error *take_part(const StateGather *g, const Source *s, GatherNumbers *numbers,
                        void *context, void *room, const void **data)
{
    int64_t index = s->index;
    bool is_there = false;
    if (!s->rank) return numbers(context, index, data);
    *data = room;
    TRY(send_to(g, s->rank, REQUEST, &index, sizeof index));
    TRY(receive_from(g, s->rank, ANSWER, &is_there, sizeof is_there));
    if (!is_there) return error_silent(EXIT_FAILURE); /* that rank tells why */
    return receive_from(g, s->rank, NUMBERS, room, (size_t)s->bytes);
}

static bool is_whole(const Whole *w, const Source *s)
{
    return s->n_boxes == 1 && box_is_whole(&s->box[0].whole, w->tensor.whole) &&
           !memcmp(s->size, w->tensor.whole, sizeof *s->size * (size_t)w->tensor.part.n_dims);
}

Error *state_gather_fetch(StateGather *g, GatherNumbers *numbers, void *context, int64_t i,
                          const void **data)
{
    const Whole *w = g->whole_by_name->entry[i].value;
    const bool is_one = w->n_sources == 1 && is_whole(w, &w->source[0]);
    int64_t room_bytes = 0, whole_bytes = is_one ? 0 : (int64_t)tensor_bytes(&w->tensor.part);
    for (int64_t k = 0; k < w->n_sources; k++)
        if (w->source[k].rank && w->source[k].bytes > room_bytes) room_bytes = w->source[k].bytes;
    if (room_bytes + whole_bytes > g->most) g->most = room_bytes + whole_bytes;
    arena_clear(g->numbers);
    void *room = arena_alloc(g->numbers, (size_t)room_bytes);
    void *whole = arena_alloc(g->numbers, (size_t)whole_bytes);
    if (is_one) return take_part(g, &w->source[0], numbers, context, room, data);
    for (int64_t k = 0; k < w->n_sources; k++) {
        const void *part;
        TRY(take_part(g, &w->source[k], numbers, context, room, &part));
        put_part(w, &w->source[k], part, whole);
    }
    *data = whole;
    return NULL;
}

Error *state_gather_serve(StateGather *g, GatherNumbers *numbers, void *context)
{
    Error *failed = NULL;
    for (;;) {
        int64_t i = NO_MORE;
        const void *part = NULL;
        Error *e = receive_from(g, 0, REQUEST, &i, sizeof i);
        if (e || i == NO_MORE) return error_join(failed, e);
        if (!failed) failed = numbers(context, i, &part);
        bool is_there = !failed;
        e = send_to(g, 0, ANSWER, &is_there, sizeof is_there);
        if (!e && is_there)
            e = send_to(g, 0, NUMBERS, (void *)part, tensor_bytes(&g->state[i].part));
        if (e) return error_join(failed, e);
    }
}

Error *state_gather_end(StateGather *g)
{
    int64_t end = NO_MORE;
    Error *e = NULL;
    for (int r = 1; r < g->group->size; r++)
        e = error_join(e, send_to(g, r, REQUEST, &end, sizeof end));
    arena_clear(g->numbers);
    return e;
}
