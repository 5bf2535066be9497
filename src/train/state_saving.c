/* state_saving.c - saves the state of a training: at once, or in the background of the next steps.
 */
#include "train/state_saving.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "checkpoint/shares.h"
#include "checkpoint/staging.h"
#include "tensor/halves.h"
#include "train/state.h"
#include "train/state_gather.h"
#include "train/torch_state.h"
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

enum { GROUP_KEY = 7000, ALIGNMENT = 64 }; /* no other group of all ranks has this key */

/* One save, while it is on its way. */
typedef struct Save {
    Arena *arena;
    CheckpointContent content;
    CheckpointTotals totals;
    PlannedSave *planned; /* reads by `staging` */
    pthread_t thread;
    bool is_begun;
    _Atomic bool is_done;
    Error *error;
} Save;

struct StateSaving {
    Arena *arena;
    const TrainingJob *job;
    ParamStore *store;
    const Graph *graph;
    Comm *world, *group; /* of the saver's own; NULL: one rank */
    StateTensor *state;  /* of this rank */
    int64_t n, n_stored; /* of which the first ones lie in the store */
    Shares *shares;      /* NULL: gather */
    StateGather *gather; /* rank 0 writes the whole state (fsdp1 on many ranks) */
    const float *updates;
    float updates_then;  /* when the save in the background began */
    Staging *staging;    /* what it reads; NULL: there are none, or with `gather` */
    bool copies_at_once; /* the state changes when nobody says so, or is not the host's */
    StateTensor *copy;   /* with `gather`: the state, with numbers in `copied` */
    bool is_beside;      /* what is being saved is the state as it was when that began */
    char *copied;        /* memory for copies of the device */
    size_t copied_bytes; /* there, or in `staging`, at most */
    Pool *pool;          /* of saves; NULL before the first one */
    Stream *stream;      /* of copies from the device; NULL: its memory is the host's */
    void *fetched;       /* one tensor */
    size_t fetched_bytes;
    Arena *joined; /* with `gather`: one tensor that lies in halves */
    Save save;
};

static bool leads(const StateSaving *s)
{
    return consensus_leads(s->job->consensus);
}

static bool is_in_background(const StateSaving *s)
{
    const CheckpointSaving *saving = s->job->saving;
    return saving->in_background && saving->strategy.keep != 0;
}

/* ---- before the first step ---- */

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static Error *check_memory(size_t bytes)
{
    const size_t there = memory_available();
    if (bytes <= there) return NULL;
    char needed[32], left[32];
    format_bytes((double)bytes, needed);
    format_bytes((double)there, left);
    return error_new("saving in the background needs a copy of %s, but only %s of memory are left; "
                     "checkpoint_saving without in_background needs none",
                     needed, left);
}

/* Whether a node writes what is saved before the update, of which nobody says when. */
static bool changes_early(const Graph *g)
{
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        for (int k = 0; k < n->n_out && n->phase != UPDATE; k++)
            if (n->out[k]->kind == VALUE_PARAM ||
                (n->out[k]->kind == VALUE_STATE && !n->out[k]->is_cache))
                return true;
    }
    return false;
}

/* The state is about to change. */
static Error *before_change(void *context)
{
    StateSaving *s = context;
    return s->save.is_begun ? staging_copy(s->staging, s->pool) : NULL;
}

/* What this rank writes. A copy is the exception where it is not made at once. */
static Error *reserve_staging(StateSaving *s)
{
    for (int64_t i = 0; i < s->shares->n; i++) {
        const Share *share = &s->shares->mine[i];
        s->copied_bytes += staging_room((size_t)box_count(&share->place.whole) *
                                        dtype_size(s->state[share->state].part.dtype));
    }
    TRY(check_memory(s->copied_bytes));
    s->staging = staging_new();
    s->copies_at_once = s->stream || changes_early(s->graph);
    staging_reserve(s->staging, s->copied_bytes, s->copies_at_once);
    if (!s->copies_at_once) store_guard(s->store, before_change, s);
    return NULL;
}

/* What of the state this rank writes or gives away, each tensor once. Touched now, so that no step
 * waits for the system to find it. */
static Error *reserve_copy(StateSaving *s)
{
    const bool *is_written = state_gather_wanted(s->gather);
    for (int64_t i = 0; i < s->n; i++)
        if (is_written[i]) s->copied_bytes += aligned(tensor_bytes(&s->state[i].part));
    TRY(check_memory(s->copied_bytes));
    TRY(device_host_alloc(s->store->device, s->copied_bytes, (void **)&s->copied));
    s->copy = arena_copy(s->arena, s->state, sizeof *s->copy * (size_t)s->n);
    char *at = s->copied;
    for (int64_t i = 0; i < s->n; i++) {
        s->copy[i].part.data = is_written[i] ? at : NULL;
        if (is_written[i]) at += aligned(tensor_bytes(&s->state[i].part));
    }
    return NULL;
}

static Error *reserve(StateSaving *s)
{
    if (!is_in_background(s)) return NULL;
    return s->gather ? reserve_copy(s) : reserve_staging(s);
}

/* Files of FSDP1 hold whole tensors, which one rank must have. */
static bool is_gathered(const StateSaving *s)
{
    return s->world && checkpoint_layout(&s->job->saving->execution) == LAYOUT_FSDP1;
}

static Error *open_group(StateSaving *s)
{
    Comm *world = s->world;
    int *rank = NEW_N(s->arena, int, world->size);
    for (int r = 0; r < world->size; r++) rank[r] = r;
    TRY(world->group(world, rank, world->size, GROUP_KEY, &s->group));
    s->group->label = "checkpoint";
    return NULL;
}

static Error *make(StateSaving *s, float *updates)
{
    s->updates = updates;
    s->state = state_of_store(s->arena, s->store, true, updates, &s->n);
    s->n_stored = s->n;
    if (leads(s)) torch_buffers(s->arena, s->job->state->model, &s->state, &s->n);
    if (s->world) TRY(open_group(s));
    if (is_gathered(s))
        TRY(consensus_break(s->job->consensus,
                            state_gather_new(s->arena, s->group, s->state, s->n, &s->gather)));
    else
        TRY(shares_plan(s->arena, s->group, s->state, s->n, &s->shares));
    return ranks_agree(s->group, reserve(s));
}

Error *state_saving_new(const TrainingJob *job, ParamStore *store, const Graph *graph,
                        float *updates, StateSaving **out)
{
    Arena *a = arena_new();
    Consensus *together = job->consensus;
    StateSaving *s = *out = NEW(a, StateSaving);
    *s = (StateSaving){
        .arena = a, .job = job, .store = store, .graph = graph, .joined = arena_new()
    };
    Device *d = store->device;
    if (!d->is_host) TRY(d->stream_new(d, true, &s->stream));
    if (together && together->world->size > 1) s->world = together->world;
    return make(s, updates);
}

size_t state_saving_bytes(const StateSaving *s)
{
    return s->copied_bytes;
}

/* ---- what is saved ---- */

static bool is_on_device(const StateSaving *s, int64_t i)
{
    return s->stream && i < s->n_stored;
}

/* From the device's memory, where that is not the host's. */
static Error *fetch(void *context, int64_t i, const void **data)
{
    StateSaving *s = context;
    Device *d = s->store->device;
    const Tensor *t = &s->state[i].part;
    const size_t bytes = tensor_bytes(t);
    *data = t->data;
    if (!is_on_device(s, i)) return NULL;
    TRY(store_settle(s->store, NULL));
    if (bytes > s->fetched_bytes) {
        device_host_release(d, s->fetched);
        s->fetched = NULL;
        s->fetched_bytes = 0;
        TRY(device_host_alloc(d, bytes, &s->fetched));
        s->fetched_bytes = bytes;
    }
    *data = s->fetched;
    return device_copy_now(d, s->fetched, t->data, bytes, s->stream);
}

/* Numbers of this rank's state[i]: the present ones, or those of when the save began. */
static Error *numbers_of(void *context, int64_t i, const void **data)
{
    StateSaving *s = context;
    if (s->is_beside && s->copy)
        *data = s->copy[i].part.data;
    else if (s->is_beside && s->state[i].part.data == s->updates)
        *data = &s->updates_then;
    else
        return fetch(s, i, data);
    return NULL;
}

/* The same, joined where they lie in halves: for ranks that put parts together. */
static Error *joined_of(void *context, int64_t i, const void **data)
{
    StateSaving *s = context;
    TRY(numbers_of(s, i, data));
    if (!s->state[i].halves) return NULL;
    const int64_t n = tensor_count(&s->state[i].part);
    const uint16_t *high = *data;
    arena_clear(s->joined);
    float *joined = NEW_N(s->joined, float, n);
    halves_join(n, high, (const int16_t *)(high + n), joined);
    *data = joined;
    return NULL;
}

/* Those of a whole tensor, from whoever has parts of it. */
static Error *gathered(void *context, int64_t i, const void **data)
{
    StateSaving *s = context;
    return state_gather_fetch(s->gather, joined_of, s, i, data);
}

static Error *make_content(StateSaving *s, Arena *a, int64_t steps, const char *progress,
                           CheckpointContent *c)
{
    if (!s->gather && !s->pool) s->pool = pool_new(s->job->n_threads); /* with the first save */
    *c = (CheckpointContent){ .state = s->state,
                              .n = s->n,
                              .shares = s->shares,
                              .fetch = s->gather ? gathered : numbers_of,
                              .context = s,
                              .pool = s->pool,
                              .progress = progress };
    if (s->gather) c->state = state_gather_whole(s->gather, &c->n);
    if (!leads(s)) return NULL;
    const StateTensor *all = s->shares ? s->shares->whole : c->state;
    return torch_objects(a, s->job->state, s->graph, steps, all,
                         s->shares ? s->shares->n_whole : c->n, c);
}

Error *state_saving_rehearse(StateSaving *s, const CheckpointTotals *first,
                             const CheckpointTotals *last, const char *progress, RehearsedSize *out)
{
    Arena *a = arena_new();
    CheckpointContent c;
    Error *e = make_content(s, a, first->seen_steps, progress, &c);
    if (s->group) e = ranks_agree(s->group, e);
    if (!e) e = checkpoint_rehearse(s->job->saving, first, last, &c, out);
    arena_free(a);
    return e;
}

static Error *write(StateSaving *s, const CheckpointTotals *totals, const CheckpointContent *c)
{
    Error *e = s->gather && !leads(s) ? state_gather_serve(s->gather, joined_of, s)
                                      : checkpoint_saving_save(s->job->saving, totals, c);
    if (s->gather && leads(s)) e = error_join(e, state_gather_end(s->gather));
    return s->group ? ranks_agree(s->group, e) : e;
}

Error *state_saving_save(StateSaving *s, const CheckpointTotals *totals, const char *progress)
{
    Arena *a = arena_new();
    CheckpointContent c;
    s->is_beside = false;
    Error *e = make_content(s, a, totals->seen_steps, progress, &c);
    if (s->group) e = ranks_agree(s->group, e);
    if (!e) e = write(s, totals, &c);
    arena_free(a);
    return e;
}

/* ---- in the background ---- */

/* One after the other without a pause; the next step begins when all are there. */
static Error *copy_state(StateSaving *s)
{
    Device *d = s->store->device;
    if (s->stream) TRY(store_settle(s->store, NULL));
    for (int64_t i = 0; i < s->n; i++) {
        void *to = s->copy[i].part.data;
        const Tensor *from = &s->state[i].part;
        if (!to) continue;
        if (is_on_device(s, i))
            TRY(d->copy(d, to, from->data, tensor_bytes(from), s->stream));
        else
            memcpy(to, from->data, tensor_bytes(from));
    }
    return s->stream ? d->synchronize(d, s->stream) : NULL;
}

/* Afterwards the state may change, when that is said. */
static Error *plan(StateSaving *s)
{
    Save *v = &s->save;
    s->is_beside = true;
    s->updates_then = *s->updates;
    if (s->gather) return ranks_agree(s->group, copy_state(s));
    v->content.staging = s->staging;
    TRY(checkpoint_saving_plan(v->arena, s->job->saving, &v->totals, &v->content, &v->planned));
    Error *e = s->copies_at_once ? staging_copy(s->staging, s->pool) : NULL;
    return s->group ? ranks_agree(s->group, e) : e;
}

static void *save_main(void *arg)
{
    StateSaving *s = arg;
    if (!leads(s)) log_leave_to_another();
    if (s->gather) {
        s->save.error = write(s, &s->save.totals, &s->save.content);
    } else {
        Error *e = checkpoint_saving_write(s->save.planned);
        staging_end(s->staging);
        s->save.error = s->group ? ranks_agree(s->group, e) : e;
    }
    atomic_store(&s->save.is_done, true);
    return NULL;
}

static Error *plan_and_start(StateSaving *s, const char *progress)
{
    Save *v = &s->save;
    Error *e = make_content(s, v->arena, v->totals.seen_steps, arena_string(v->arena, progress),
                            &v->content);
    if (s->group) e = ranks_agree(s->group, e);
    if (!e) e = plan(s);
    if (e) return e;
    v->is_begun = thread_start(&v->thread, save_main, s);
    if (!v->is_begun) /* nobody to leave it to */
        save_main(s);
    return NULL;
}

Error *state_saving_begin(StateSaving *s, const CheckpointTotals *totals, const char *progress)
{
    CHECK(!s->save.arena);
    s->save = (Save){ .arena = arena_new(), .totals = *totals };
    Error *e = plan_and_start(s, progress);
    if (!e) return NULL;
    arena_free(s->save.arena);
    s->save = (Save){ .arena = NULL };
    return e;
}

size_t state_saving_copied(const StateSaving *s)
{
    return s->staging ? staging_copied(s->staging) : s->copied_bytes;
}

bool state_saving_is_begun(const StateSaving *s)
{
    return s->save.arena != NULL;
}

bool state_saving_is_done(const StateSaving *s)
{
    return s->save.arena && atomic_load(&s->save.is_done);
}

Error *state_saving_finish(StateSaving *s, int64_t *steps)
{
    if (s->save.is_begun) pthread_join(s->save.thread, NULL);
    Error *e = s->save.error;
    *steps = s->save.totals.seen_steps;
    arena_free(s->save.arena);
    s->save = (Save){ .arena = NULL };
    return e;
}

void state_saving_free(StateSaving *s)
{
    int64_t steps;
    if (!s) return;
    if (state_saving_is_begun(s)) error_free(state_saving_finish(s, &steps));
    if (s->group) s->group->free(s->group);
    Device *d = s->store->device;
    pool_free(s->pool);
    if (s->staging) store_guard(s->store, NULL, NULL);
    staging_free(s->staging);
    if (s->stream) d->stream_free(d, s->stream);
    device_host_release(d, s->copied);
    device_host_release(d, s->fetched);
    arena_free(s->joined);
    arena_free(s->arena);
}
