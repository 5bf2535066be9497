/* load_shared.c - all ranks of a job load a checkpoint together.
 *
 * Laid end to end, the tensors that are needed are cut into as many ranges of equal size as there
 * are ranks. Each rank reads its range, chunk by chunk, and in each round every rank sends to the
 * others what they need of its chunk. So each byte is read and checked once, by one rank, also
 * where matrices are split by columns or where all ranks need the same. What goes where follows
 * from the wants of all ranks, which all know. */
#include "checkpoint/load_shared.h"
#include "base/thread.h"
#include "checkpoint/manifest.h"
#include "checkpoint/shares.h"
#include <inttypes.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 20, NUMBERS = 0 /* tag */ };

/* A rectangle of an entry that a rank needs. */
typedef struct Want {
    int64_t entry;
    Box box;
} Want;

/* The same, in the list of its entry; `state` and `place` are known of this rank's. */
typedef struct Wanted {
    int rank;
    Box box;
    const StateTensor *state;
    PartBox place;
} Wanted;

typedef struct WantedList {
    Wanted *item;
    int64_t n, cap;
} WantedList;

/* What a rank reads at once. */
typedef struct SharedChunk {
    int64_t entry;
    Box box;
} SharedChunk;

typedef struct ChunkList {
    SharedChunk *item;
    int64_t n, cap;
} ChunkList;

typedef struct Loading {
    Arena *arena;
    CheckpointReader *reader;
    Comm *comm;
    WantedList *wanted; /* of each entry */
    ChunkList *chunk;   /* of each rank */
    Error *damage;      /* what could not be read */
    int64_t n_damaged;
} Loading;

/* ---- what all need ---- */

static Want *own_wants(Loading *l, const StateTensor *state, int64_t n, int64_t *n_wants)
{
    Want *want = NULL;
    int64_t cap = 0;
    *n_wants = 0;
    for (int64_t i = 0; i < n; i++) {
        PartBox *place;
        int64_t entry = checkpoint_find(l->reader, state[i].name);
        int k = part_boxes(l->arena, state[i].whole, &state[i].part, &place);
        for (int b = 0; b < k; b++) {
            WantedList *list = &l->wanted[entry];
            want = arena_grow(l->arena, want, *n_wants, &cap, sizeof *want);
            want[(*n_wants)++] = (Want){ entry, place[b].whole };
            list->item = arena_grow(l->arena, list->item, list->n, &list->cap, sizeof *list->item);
            list->item[list->n++] = (Wanted){
                .rank = l->comm->rank, .box = place[b].whole, .state = &state[i], .place = place[b]
            };
        }
    }
    return want;
}

static Error *share_wants(Loading *l, const Want *mine, int64_t n)
{
    Comm *c = l->comm;
    int64_t *ones = NEW_N(l->arena, int64_t, c->size), *counts = NEW_N(l->arena, int64_t, c->size);
    int64_t total = 0, bytes = n * (int64_t)sizeof *mine;
    for (int r = 0; r < c->size; r++) ones[r] = 1;
    TRY(c->all_gather(c, &bytes, counts, ones, I64, NULL));
    for (int r = 0; r < c->size; r++) total += counts[r];
    char *all = arena_alloc(l->arena, (size_t)total + 1);
    TRY(c->all_gather(c, mine, all, counts, U8, NULL));
    for (int r = 0; r < c->size; r++) {
        for (int64_t at = 0; at < counts[r] && r != c->rank; at += (int64_t)sizeof(Want)) {
            Want w;
            memcpy(&w, all + at, sizeof w);
            WantedList *list = &l->wanted[w.entry];
            list->item = arena_grow(l->arena, list->item, list->n, &list->cap, sizeof *list->item);
            list->item[list->n++] = (Wanted){ .rank = r, .box = w.box };
        }
        all += counts[r];
    }
    return NULL;
}

/* ---- who reads what ---- */

static int64_t entry_bytes(const CheckpointEntry *e)
{
    const Box whole = box_whole(e->n_dims, e->size);
    return box_count(&whole) * (int64_t)dtype_size(e->dtype);
}

/* An entry as rows: indices of its first `n_dims` dimensions, of the last of which several make a
 * chunk. */
typedef struct Rows {
    int n_dims;
    int64_t n, bytes; /* of each */
} Rows;

static Rows rows_of(const CheckpointEntry *e)
{
    Rows r = { .n = 1, .bytes = entry_bytes(e) };
    while (r.n_dims < e->n_dims && (r.bytes > CHUNK_BYTES || r.n_dims == 0)) {
        const int64_t size = e->size[r.n_dims++];
        r.n *= size;
        r.bytes = size ? r.bytes / size : 0;
    }
    return r;
}

/* The rows [from, to) of an entry, as chunks of a rank. */
static void add_chunks(Loading *l, int rank, int64_t entry, const Rows *rows, int64_t from,
                       int64_t to)
{
    const CheckpointEntry *e = &l->reader->entry[entry];
    ChunkList *list = &l->chunk[rank];
    CHECK(rows->bytes > 0);
    const int last = rows->n_dims - 1;
    const int64_t most = rows->bytes < CHUNK_BYTES ? CHUNK_BYTES / rows->bytes : 1;
    while (from < to) {
        Box box = box_whole(e->n_dims, e->size);
        int64_t n = to - from < most ? to - from : most, row = from;
        if (last >= 0) {
            const int64_t left = e->size[last] - row % e->size[last];
            n = n < left ? n : left;
        }
        for (int d = last; d >= 0; d--) {
            box.start[d] = row % e->size[d];
            box.size[d] = d == last ? n : 1;
            row /= e->size[d];
        }
        list->item = arena_grow(l->arena, list->item, list->n, &list->cap, sizeof *list->item);
        list->item[list->n++] = (SharedChunk){ entry, box };
        from += n;
    }
}

/* The first row of an entry at `base` that begins at or after byte `cut`. */
static int64_t row_at(const Rows *rows, int64_t base, int64_t cut)
{
    if (cut <= base) return 0;
    CHECK(rows->bytes > 0);
    const int64_t row = (cut - base + rows->bytes - 1) / rows->bytes;
    return row < rows->n ? row : rows->n;
}

static void share_out(Loading *l)
{
    const int n_ranks = l->comm->size;
    int64_t total = 0, base = 0;
    for (int64_t i = 0; i < l->reader->n_entries; i++)
        if (l->wanted[i].n) total += entry_bytes(&l->reader->entry[i]);
    for (int64_t i = 0; i < l->reader->n_entries; i++) {
        const int64_t bytes = entry_bytes(&l->reader->entry[i]);
        const Rows rows = rows_of(&l->reader->entry[i]);
        if (!l->wanted[i].n || !bytes) continue;
        for (int r = 0; r < n_ranks; r++) {
            int64_t from, to;
            split_range(total, n_ranks, r, &from, &to);
            add_chunks(l, r, i, &rows, row_at(&rows, base, from), row_at(&rows, base, to));
        }
        base += bytes;
    }
}

/* ---- reading and sending ---- */

enum { SHOWN = 10 };

static void note_damage(Loading *l, Error *e)
{
    if (!e) return;
    if (++l->n_damaged <= SHOWN)
        l->damage = error_join(l->damage, e);
    else
        error_free(e);
}

/* Numbers of `both` in the entry's dtype into their place. */
static void put_part(Arena *a, const CheckpointEntry *e, const Wanted *w, const Box *both,
                     const void *numbers)
{
    const Tensor *part = &w->state->part;
    const Box all = box_whole(part->n_dims, part->size);
    const int64_t count = box_count(both);
    Box local = *both;
    for (int d = 0; d < local.n_dims; d++)
        local.start[d] += w->place.local.start[d] - w->place.whole.start[d];
    if (e->dtype != part->dtype) {
        void *converted = arena_alloc(a, (size_t)count * dtype_size(part->dtype));
        dtype_convert(part->dtype, converted, e->dtype, numbers, count);
        numbers = converted;
    }
    box_copy(&local, dtype_size(part->dtype), &local, numbers, &all, part->data);
}

/* The bytes that `rank` needs of a chunk. */
static size_t bytes_for(const Loading *l, const SharedChunk *c, int rank)
{
    const WantedList *list = &l->wanted[c->entry];
    int64_t count = 0;
    Box both;
    for (int64_t i = 0; i < list->n; i++)
        if (list->item[i].rank == rank && box_intersect(&list->item[i].box, &c->box, &both))
            count += box_count(&both);
    return (size_t)count * dtype_size(l->reader->entry[c->entry].dtype);
}

/* One rectangle after the other. */
static void pack(const Loading *l, const SharedChunk *c, int rank, const void *numbers, char *out)
{
    const WantedList *list = &l->wanted[c->entry];
    const size_t element = dtype_size(l->reader->entry[c->entry].dtype);
    Box both;
    for (int64_t i = 0; i < list->n; i++) {
        if (list->item[i].rank != rank || !box_intersect(&list->item[i].box, &c->box, &both))
            continue;
        box_copy(&both, element, &c->box, numbers, &both, out);
        out += (size_t)box_count(&both) * element;
    }
}

static void unpack(Loading *l, Arena *a, const SharedChunk *c, const char *in)
{
    const WantedList *list = &l->wanted[c->entry];
    const CheckpointEntry *e = &l->reader->entry[c->entry];
    Box both;
    for (int64_t i = 0; i < list->n; i++) {
        const Wanted *w = &list->item[i];
        if (w->rank != l->comm->rank || !box_intersect(&w->box, &c->box, &both)) continue;
        put_part(a, e, w, &both, in);
        in += (size_t)box_count(&both) * dtype_size(e->dtype);
    }
}

static const SharedChunk *chunk_of(const Loading *l, int rank, int64_t round)
{
    return round < l->chunk[rank].n ? &l->chunk[rank].item[round] : NULL;
}

/* Reads the chunk of this rank and makes a message for each rank that needs of it. */
static int read_chunk(Loading *l, Arena *a, int64_t round, Transfer *send)
{
    const SharedChunk *c = chunk_of(l, l->comm->rank, round);
    int n = 0;
    if (!c) return 0;
    const CheckpointEntry *e = &l->reader->entry[c->entry];
    void *numbers = arena_alloc(a, (size_t)box_count(&c->box) * dtype_size(e->dtype));
    note_damage(l, l->reader->get(l->reader, c->entry, &c->box, numbers));
    for (int r = 0; r < l->comm->size; r++) {
        const size_t bytes = bytes_for(l, c, r);
        if (!bytes) continue;
        send[n] =
            (Transfer){ .peer = r, .tag = NUMBERS, .data = arena_alloc(a, bytes), .bytes = bytes };
        pack(l, c, r, numbers, send[n++].data);
    }
    return n;
}

static Error *run_round(Loading *l, Arena *a, int64_t round)
{
    Comm *c = l->comm;
    Transfer *send = NEW_N(a, Transfer, c->size), *receive = NEW_N(a, Transfer, c->size);
    const SharedChunk **from = NEW_N(a, const SharedChunk *, c->size);
    int n_receives = 0;
    const int n_sends = read_chunk(l, a, round, send);
    for (int r = 0; r < c->size; r++) {
        const SharedChunk *chunk = chunk_of(l, r, round);
        const size_t bytes = chunk ? bytes_for(l, chunk, c->rank) : 0;
        if (!bytes) continue;
        from[n_receives] = chunk;
        receive[n_receives++] =
            (Transfer){ .peer = r, .tag = NUMBERS, .data = arena_alloc(a, bytes), .bytes = bytes };
    }
    TRY(c->exchange(c, send, n_sends, receive, n_receives, NULL));
    for (int i = 0; i < n_receives; i++) unpack(l, a, from[i], receive[i].data);
    return NULL;
}

static Error *run_rounds(Loading *l)
{
    int64_t n = 0;
    for (int r = 0; r < l->comm->size; r++) n = l->chunk[r].n > n ? l->chunk[r].n : n;
    Arena *a = arena_new();
    Error *e = NULL;
    for (int64_t round = 0; !e && round < n; round++) {
        e = run_round(l, a, round);
        arena_clear(a);
    }
    arena_free(a);
    return e;
}

/* What nobody needs is checked all the same, by one rank each. */
static void check_rest(Loading *l)
{
    CheckpointReader *r = l->reader;
    const CheckpointObject *object;
    int64_t n;
    for (int64_t i = 0, k = 0; r->verify && i < r->n_entries; i++)
        if (!l->wanted[i].n && k++ % l->comm->size == l->comm->rank)
            note_damage(l, r->verify(r, i));
    if (l->comm->rank || l->damage) return;
    if (r->verify_files) note_damage(l, r->verify_files(r));
    if (!l->damage && r->objects) note_damage(l, r->objects(r, &object, &n));
}

/* Ranks that do not see the same files would wait for each other in vain. */
static Error *compare_checkpoints(const Loading *l)
{
    const CheckpointReader *r = l->reader;
    uint32_t hash = 0;
    for (int64_t i = 0; i < r->n_entries; i++) {
        const CheckpointEntry *e = &r->entry[i];
        hash = checksum(hash, e->name, strlen(e->name));
        hash = checksum(hash, e->size, sizeof *e->size * (size_t)e->n_dims);
        hash = checksum(hash, &e->dtype, sizeof e->dtype);
    }
    double both[] = { hash, -(double)hash };
    TRY(l->comm->all_reduce(l->comm, both, 2, F64, REDUCE_MAX, NULL));
    return both[0] == -both[1]
               ? NULL
               : error_new("%s: the ranks see different checkpoints under this path", r->path);
}

static Error *load(Loading *l, const StateTensor *state, int64_t n)
{
    int64_t n_wants;
    TRY(compare_checkpoints(l));
    const Want *want = own_wants(l, state, n, &n_wants);
    TRY(share_wants(l, want, n_wants));
    share_out(l);
    TRY(run_rounds(l));
    check_rest(l);
    if (l->n_damaged > SHOWN)
        l->damage =
            error_join(l->damage, error_new("... and %" PRId64 " more", l->n_damaged - SHOWN));
    return error_wrap(l->damage, "%s is damaged", l->reader->path);
}

Error *checkpoint_load_shared(CheckpointReader *r, const StateTensor *state, int64_t n, Comm *comm)
{
    if (!comm || comm->size == 1) {
        TRY(checkpoint_load(r, state, n));
        return checkpoint_verify(r);
    }
    Arena *a = arena_new();
    Loading l = { .arena = a,
                  .reader = r,
                  .comm = comm,
                  .wanted = NEW_N(a, WantedList, r->n_entries),
                  .chunk = NEW_N(a, ChunkList, comm->size) };
    Error *e = ranks_agree(comm, load(&l, state, n));
    arena_free(a);
    return e;
}
