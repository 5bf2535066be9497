/* shares.c - which rank writes which rectangles of a state that lies on many ranks. */
#include "checkpoint/shares.h"
#include "checkpoint/manifest.h"
#include <stdlib.h>
#include <string.h>

enum { LENGTH, BYTES }; /* tags */

int shares_ranks(const Shares *s)
{
    return s->comm ? s->comm->size : 1;
}

int shares_rank(const Shares *s)
{
    return s->comm ? s->comm->rank : 0;
}

/* ---- between ranks ---- */

Error *ranks_agree(Comm *comm, Error *mine)
{
    double any = mine != NULL;
    if (!comm || comm->size == 1) return mine;
    Error *e = comm->all_reduce(comm, &any, 1, F64, REDUCE_MAX, NULL);
    if (mine || e) return error_join(mine, e);
    return any > 0 ? error_silent(1) : NULL;
}

static Error *send_bytes(Comm *c, int peer, Str bytes)
{
    int64_t length = (int64_t)bytes.len;
    const Transfer size = { .peer = peer, .tag = LENGTH, .data = &length, .bytes = sizeof length },
                   body = {
                       .peer = peer, .tag = BYTES, .data = (void *)bytes.ptr, .bytes = bytes.len
                   };
    TRY(c->exchange(c, &size, 1, NULL, 0, NULL));
    return length ? c->exchange(c, &body, 1, NULL, 0, NULL) : NULL;
}

static Error *receive_bytes(Arena *a, Comm *c, int peer, Str *out)
{
    int64_t length = 0;
    const Transfer size = { .peer = peer, .tag = LENGTH, .data = &length, .bytes = sizeof length };
    TRY(c->exchange(c, NULL, 0, &size, 1, NULL));
    char *bytes = arena_alloc(a, (size_t)length + 1);
    const Transfer body = { .peer = peer, .tag = BYTES, .data = bytes, .bytes = (size_t)length };
    bytes[length] = '\0';
    *out = (Str){ bytes, (size_t)length };
    return length ? c->exchange(c, NULL, 0, &body, 1, NULL) : NULL;
}

Error *ranks_collect(Arena *a, Comm *comm, Str mine, Str **out)
{
    if (comm && comm->rank) return send_bytes(comm, 0, mine);
    *out = NEW_N(a, Str, comm ? comm->size : 1);
    (*out)[0] = mine;
    for (int r = 1; comm && r < comm->size; r++) TRY(receive_bytes(a, comm, r, &(*out)[r]));
    return NULL;
}

/* ---- what a rank has ---- */

/* A tensor of which a rank has parts; its name and its rectangles follow. */
typedef struct Offer {
    int64_t n_name, n_boxes;
    int64_t whole[MAX_DIMS];
    int dtype, n_dims;
} Offer;

static void put_offer(Arena *a, const StateTensor *t, Text *out)
{
    PartBox *box;
    Offer o = { .n_name = (int64_t)strlen(t->name),
                .n_boxes = part_boxes(a, t->whole, &t->part, &box),
                .dtype = t->part.dtype,
                .n_dims = t->part.n_dims };
    memcpy(o.whole, t->whole, sizeof *o.whole * (size_t)o.n_dims);
    text_add(out, &o, sizeof o);
    text_add(out, t->name, strlen(t->name));
    for (int64_t i = 0; i < o.n_boxes; i++) text_add(out, &box[i].whole, sizeof box[i].whole);
}

/* ---- rank 0 ---- */

/* Where a rectangle can be written from. */
typedef struct Holder {
    int rank;
    int64_t state, box; /* indices there */
} Holder;

/* A rectangle that is to be written once. */
typedef struct Place {
    int64_t tensor, bytes;
    Box box;
    Holder *holder;
    int64_t n_holders, cap;
    int writer; /* index of the holder */
} Place;

typedef struct PlaceList {
    Place **item;
    int64_t n, cap;
} PlaceList;

typedef struct Planner {
    Arena *arena;
    int n_ranks;
    Map *by_name; /* index of the tensor + 1 */
    StateTensor *whole;
    PlaceList *place; /* of each tensor */
    int64_t n, cap, place_cap;
} Planner;

static Error *find_tensor(Planner *p, const char *name, const Offer *o, int64_t *index)
{
    *index = (intptr_t)map_get(p->by_name, str_of(name)) - 1;
    if (*index >= 0) {
        CHECK(p->whole != NULL);
        const StateTensor *t = &p->whole[*index];
        bool is_same = (int)t->part.dtype == o->dtype && t->part.n_dims == o->n_dims &&
                       !memcmp(t->whole, o->whole, sizeof *o->whole * (size_t)o->n_dims);
        return is_same ? NULL
                       : error_new("tensor \"%s\": two parts differ in dtype or whole sizes", name);
    }
    p->whole = arena_grow(p->arena, p->whole, p->n, &p->cap, sizeof *p->whole);
    p->place = arena_grow(p->arena, p->place, p->n, &p->place_cap, sizeof *p->place);
    StateTensor *t = &p->whole[p->n];
    p->place[p->n] = (PlaceList){ 0 };
    *t = (StateTensor){ .name = name, .part = { .dtype = o->dtype, .n_dims = o->n_dims } };
    memcpy(t->whole, o->whole, sizeof *t->whole * (size_t)o->n_dims);
    memcpy(t->part.size, t->whole, sizeof t->part.size);
    *index = p->n++;
    map_set(p->by_name, str_of(name), (void *)(intptr_t)p->n);
    return NULL;
}

static bool is_same_box(const Box *x, const Box *y)
{
    return box_contains(x, y) && box_contains(y, x);
}

/* The rectangle counts for this rank, too, if another rank has it. */
static void add_box(Planner *p, int64_t tensor, const Box *box, const Holder *holder)
{
    PlaceList *list = &p->place[tensor];
    Place *same = NULL;
    for (int64_t i = 0; i < list->n && !same; i++) {
        Place *x = list->item[i];
        bool is_own = x->holder[x->n_holders - 1].rank == holder->rank;
        if (is_own) continue;
        if (is_same_box(&x->box, box))
            same = x;
        else if (box_contains(&x->box, box))
            return;
    }
    if (!same) {
        same = NEW(p->arena, Place);
        *same =
            (Place){ .tensor = tensor,
                     .box = *box,
                     .bytes = box_count(box) * (int64_t)dtype_size(p->whole[tensor].part.dtype) };
        list->item = arena_grow(p->arena, list->item, list->n, &list->cap, sizeof *list->item);
        list->item[list->n++] = same;
    }
    same->holder =
        arena_grow(p->arena, same->holder, same->n_holders, &same->cap, sizeof *same->holder);
    same->holder[same->n_holders++] = *holder;
}

static Error *read_offers(Planner *p, int rank, Str offers)
{
    const char *at = offers.ptr, *end = at + offers.len;
    for (int64_t state = 0; at < end; state++) {
        Offer o;
        int64_t tensor = 0;
        memcpy(&o, at, sizeof o);
        at += sizeof o;
        const char *name = arena_string_n(p->arena, at, (size_t)o.n_name);
        at += o.n_name;
        TRY(find_tensor(p, name, &o, &tensor));
        for (int64_t i = 0; i < o.n_boxes; i++, at += sizeof(Box)) {
            Box box;
            memcpy(&box, at, sizeof box);
            add_box(p, tensor, &box, &(Holder){ rank, state, i });
        }
    }
    return NULL;
}

static int largest_first(const void *x, const void *y)
{
    const Place *a = *(Place *const *)x, *b = *(Place *const *)y;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? 1 : -1;
    if (a->tensor != b->tensor) return a->tensor < b->tensor ? -1 : 1;
    for (int d = 0; d < a->box.n_dims; d++)
        if (a->box.start[d] != b->box.start[d]) return a->box.start[d] < b->box.start[d] ? -1 : 1;
    return 0;
}

/* What one rank has alone is its own; the rest evens out what they write. */
static void choose_writers(const Planner *p)
{
    int64_t *load = NEW_N(p->arena, int64_t, p->n_ranks), n = 0, n_all = 0;
    for (int64_t i = 0; i < p->n; i++) n_all += p->place[i].n;
    Place **shared = NEW_N(p->arena, Place *, n_all);
    for (int64_t i = 0; i < p->n; i++) {
        for (int64_t k = 0; k < p->place[i].n; k++) {
            Place *x = p->place[i].item[k];
            if (x->n_holders > 1)
                shared[n++] = x;
            else
                load[x->holder->rank] += x->bytes;
        }
    }
    if (n) qsort(shared, (size_t)n, sizeof *shared, largest_first);
    for (int64_t i = 0; i < n; i++) {
        Place *x = shared[i];
        for (int k = 1; k < x->n_holders; k++)
            if (load[x->holder[k].rank] < load[x->holder[x->writer].rank]) x->writer = k;
        load[x->holder[x->writer].rank] += x->bytes;
    }
}

/* A rank's list as it is sent: pairs of state and box. */
typedef struct Chosen {
    int64_t state, box;
} Chosen;

static void put_block_bytes(const Planner *p, Shares *s, Text *chosen)
{
    int64_t total = 0;
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t k = 0; k < p->place[i].n; k++) total += p->place[i].item[k]->bytes;
    s->block_bytes = manifest_block_bytes(total);
    for (int r = 0; r < p->n_ranks; r++)
        text_add(&chosen[r], &s->block_bytes, sizeof s->block_bytes);
}

static void list_chosen(const Planner *p, Arena *a, Shares *s, Text *chosen)
{
    int64_t *cap = NEW_N(a, int64_t, p->n_ranks);
    WholeBox **list = NEW_N(a, WholeBox *, p->n_ranks);
    s->n_of_rank = NEW_N(a, int64_t, p->n_ranks);
    for (int64_t i = 0; i < p->n; i++) {
        for (int64_t k = 0; k < p->place[i].n; k++) {
            const Place *x = p->place[i].item[k];
            const Holder *h = &x->holder[x->writer];
            const Chosen pair = { h->state, h->box };
            int64_t *n = &s->n_of_rank[h->rank];
            list[h->rank] = arena_grow(a, list[h->rank], *n, &cap[h->rank], sizeof **list);
            list[h->rank][(*n)++] = (WholeBox){ i, x->box };
            text_add(&chosen[h->rank], &pair, sizeof pair);
        }
    }
    s->of_rank = (const WholeBox **)list;
    StateTensor *whole = NEW_N(a, StateTensor, p->n);
    for (int64_t i = 0; i < p->n; i++) {
        whole[i] = p->whole[i];
        whole[i].name = arena_string(a, whole[i].name);
    }
    s->whole = whole;
    s->n_whole = p->n;
}

static Error *plan(Arena *a, const Comm *comm, const Str *offers, Shares *s, Text *chosen)
{
    Arena *own = arena_new();
    Planner p = { .arena = own, .n_ranks = comm ? comm->size : 1, .by_name = map_new(own) };
    Error *e = NULL;
    CHECK(offers != NULL);
    for (int r = 0; !e && r < p.n_ranks; r++) e = read_offers(&p, r, offers[r]);
    if (!e) {
        choose_writers(&p);
        put_block_bytes(&p, s, chosen);
        list_chosen(&p, a, s, chosen);
    }
    arena_free(own);
    return e;
}

/* ---- all ranks ---- */

static void take_chosen(Arena *a, const StateTensor *state, Str chosen, Shares *s)
{
    memcpy(&s->block_bytes, chosen.ptr, sizeof s->block_bytes);
    chosen.ptr += sizeof s->block_bytes;
    chosen.len -= sizeof s->block_bytes;
    s->n = (int64_t)(chosen.len / sizeof(Chosen));
    Share *mine = NEW_N(a, Share, s->n);
    Arena *own = arena_new();
    for (int64_t i = 0; i < s->n; i++) {
        Chosen pair;
        PartBox *box;
        memcpy(&pair, chosen.ptr + (size_t)i * sizeof pair, sizeof pair);
        const StateTensor *t = &state[pair.state];
        part_boxes(own, t->whole, &t->part, &box);
        mine[i] = (Share){ pair.state, box[pair.box] };
        arena_clear(own);
    }
    arena_free(own);
    s->mine = mine;
}

static Error *lead(Arena *a, Comm *comm, const Str *offers, const StateTensor *state, Shares *s)
{
    const int n = comm ? comm->size : 1;
    CHECK(offers != NULL);
    Text *chosen = NEW_N(a, Text, n);
    Error *e = ranks_agree(comm, plan(a, comm, offers, s, chosen));
    for (int r = 1; !e && r < n; r++)
        e = send_bytes(comm, r, (Str){ chosen[r].ptr, chosen[r].len });
    if (!e) take_chosen(a, state, (Str){ chosen[0].ptr, chosen[0].len }, s);
    for (int r = 0; r < n; r++) text_free(&chosen[r]);
    return e;
}

static Error *follow(Arena *a, Comm *comm, const StateTensor *state, Shares *s)
{
    Str chosen = { 0 };
    TRY(ranks_agree(comm, NULL));
    TRY(receive_bytes(a, comm, 0, &chosen));
    take_chosen(a, state, chosen, s);
    return NULL;
}

Error *shares_plan(Arena *a, Comm *comm, const StateTensor *state, int64_t n, Shares **out)
{
    Shares *s = *out = NEW(a, Shares);
    Text offers = { 0 };
    Str *all = NULL;
    Arena *own = arena_new();
    s->comm = comm;
    for (int64_t i = 0; i < n; i++) put_offer(own, &state[i], &offers);
    Error *e = ranks_collect(own, comm, (Str){ offers.ptr, offers.len }, &all);
    if (!e) e = shares_rank(s) ? follow(a, comm, state, s) : lead(a, comm, all, state, s);
    text_free(&offers);
    arena_free(own);
    return e;
}
