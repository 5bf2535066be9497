/* loader.c - data_loader.default: makes batches, in threads ahead of their use or when asked.
 *
 * Batch k lies in slot k % n_slots, with the memory of its tensors. A thread takes the next number
 * whose slot is free, so batches are made in any order and handed out in theirs; a slot is free
 * again when the caller asks for the next batch. Both sides know how many batches there are, so no
 * message says "end". */
#include "base/clock.h"
#include "base/log.h"
#include "base/lost_pages.h"
#include "base/thread.h"
#include "config/builder.h"
#include "data/collate.h"
#include "data/data.h"
#include <errno.h>
#include <limits.h>
#include <string.h>

typedef struct Slot {
    Batch batch;
    Error *error; /* instead of a batch */
    bool is_made;
} Slot;

/* What a thread needs to make batches. */
typedef struct Maker {
    struct Loader *loader;
    Sample *sample; /* of the batch in the making */
    Arena *scratch; /* for what datasets make */
    pthread_t thread;
} Maker;

struct Loader {
    LoaderSettings settings;
    int64_t batch_size, n_samples;
    int64_t vocab_size; /* 0: ids are not checked */
    int64_t position;   /* handed out */
    Slot *slot;
    int n_slots;
    Maker *maker;
    int n_makers; /* at least one, for batches that are made when asked for */
    int n_running;
    bool is_warned; /* that there are fewer threads than asked for */
    LoaderWaits waits;
    int64_t start; /* position of batch 0 of the threads */
    /* Shared with the threads, under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t is_free, is_made;
    int64_t next, released; /* batches begun; given back by the caller */
    bool is_stopping;       /* also after an error */
};

/* ---- making a batch ---- */

static int64_t id_at(const Tensor *t, int64_t i)
{
    return t->dtype == U8    ? ((uint8_t *)t->data)[i]
           : t->dtype == U16 ? ((uint16_t *)t->data)[i]
                             : ((int32_t *)t->data)[i];
}

/* The first id that is none, or -1. */
static int64_t find_wrong_id(const Tensor *t, int64_t vocab_size)
{
    int64_t n = tensor_count(t);
    if ((t->dtype == U8 && vocab_size > UINT8_MAX) || (t->dtype == U16 && vocab_size > UINT16_MAX))
        return -1;
    bool any = false; /* loops without exits: they run at the speed of memory */
    const uint8_t *u8 = t->data;
    const uint16_t *u16 = t->data;
    const uint32_t *u32 = t->data; /* negative ids are large here */
    uint32_t limit = vocab_size > INT32_MAX ? (uint32_t)INT32_MAX + 1 : (uint32_t)vocab_size;
    if (t->dtype == U8)
        for (int64_t i = 0; i < n; i++) any |= u8[i] >= limit;
    else if (t->dtype == U16)
        for (int64_t i = 0; i < n; i++) any |= u16[i] >= limit;
    else
        for (int64_t i = 0; i < n; i++) any |= u32[i] >= limit;
    if (!any) return -1;
    int64_t i = 0;
    while (id_at(t, i) >= 0 && id_at(t, i) < vocab_size) i++;
    return i;
}

static Error *check_ids(const Loader *l, int64_t index, const Sample *s)
{
    for (int k = 0; k < s->n; k++) {
        const Tensor *t = &s->item[k].tensor;
        if (t->dtype != U8 && t->dtype != U16 && t->dtype != I32) continue;
        int64_t at = find_wrong_id(t, l->vocab_size);
        if (at < 0) continue;
        Text where = { 0 };
        l->settings.dataset->describe(l->settings.dataset, index, &where);
        Error *e = error_new(
            "%s: '%s' has the id %lld at place %lld; the model's vocabulary allows 0 to %lld",
            where.ptr, s->item[k].name, (long long)id_at(t, at), (long long)at,
            (long long)l->vocab_size - 1);
        text_free(&where);
        return e;
    }
    return NULL;
}

static Error *make_batch(const Maker *m, int64_t position, Batch *out)
{
    const Loader *l = m->loader;
    const Dataset *d = l->settings.dataset;
    const Sampler *sampler = l->settings.batches->sampler;
    for (int64_t i = 0; i < l->batch_size; i++) {
        int64_t index = sampler->index(sampler, position + i), n = d->count(d);
        if (index < 0 || index >= n)
            return error_new("the sampler asks for sample %lld of a dataset of %lld: it was made "
                             "for another one",
                             (long long)index, (long long)n);
        TRY(d->get(d, index, m->scratch, &m->sample[i]));
        if (l->vocab_size) TRY(check_ids(l, index, &m->sample[i]));
    }
    batch_clear(out);
    out->n_samples = l->batch_size;
    out->position = position;
    const Collator *c = l->settings.collator ? l->settings.collator : &collate_all;
    return c->collate(c, m->sample, l->batch_size, out);
}

static void fill(const Maker *m, int64_t position, Slot *s)
{
    lost_pages_begin();
    Error *e = make_batch(m, position, &s->batch);
    Error *lost = lost_pages_end();
    if (lost) error_free(e); /* it may be about zeros that are not in the file */
    s->error = error_wrap(lost ? lost : e, "data loader '%s'", m->loader->settings.tag);
    arena_clear(m->scratch);
}

/* ---- the threads ---- */

static bool has_batch(const Loader *l, int64_t position)
{
    return l->n_samples - position >= l->batch_size;
}

/* Takes the number of the batch to make next; false when there is nothing more to do. */
static bool take_number(Loader *l, int64_t *number)
{
    while (!l->is_stopping && l->next >= l->released + l->n_slots)
        pthread_cond_wait(&l->is_free, &l->lock);
    *number = l->next;
    if (l->is_stopping || !has_batch(l, l->start + l->next * l->batch_size)) return false;
    l->next++;
    return true;
}

static void *prefetch(void *arg)
{
    Maker *m = arg;
    Loader *l = m->loader;
    int64_t number;
    pthread_mutex_lock(&l->lock);
    while (take_number(l, &number)) {
        Slot *s = &l->slot[number % l->n_slots];
        pthread_mutex_unlock(&l->lock);
        fill(m, l->start + number * l->batch_size, s);
        pthread_mutex_lock(&l->lock);
        s->is_made = true;
        if (number == l->released)
            pthread_cond_signal(&l->is_made); /* the caller may wait for it */
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static void warn_of_fewer(Loader *l)
{
    if (l->is_warned) return;
    l->is_warned = true;
    log_warning("data loader '%s': only %d of %d threads can be made (%s); %s", l->settings.tag,
                l->n_running, l->n_makers, strerror(errno),
                l->n_running ? "going on with fewer" : "batches are made when they are needed");
}

static void start(Loader *l)
{
    l->start = l->position;
    l->next = l->released = 0;
    l->is_stopping = false;
    for (int i = 0; i < l->n_slots; i++) l->slot[i].is_made = false;
    while (l->n_running < l->n_makers) {
        Maker *m = &l->maker[l->n_running];
        if (!thread_start(&m->thread, prefetch, m)) {
            warn_of_fewer(l);
            return;
        }
        l->n_running++;
    }
}

static void stop(Loader *l)
{
    if (!l->n_running) return;
    pthread_mutex_lock(&l->lock);
    l->is_stopping = true;
    pthread_cond_broadcast(&l->is_free);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->n_running; i++) pthread_join(l->maker[i].thread, NULL);
    for (int i = 0; i < l->n_slots; i++) {
        error_free(l->slot[i].error);
        l->slot[i].error = NULL;
    }
    l->n_running = 0;
}

/* The next slot, from the threads or made here. The one before is free from now on. */
static Slot *next_slot(Loader *l)
{
    if (l->settings.prefetch && !l->n_running) start(l);
    if (!l->n_running) {
        fill(&l->maker[0], l->position, &l->slot[0]);
        return &l->slot[0];
    }
    int64_t number = (l->position - l->start) / l->batch_size;
    Slot *s = &l->slot[number % l->n_slots];
    pthread_mutex_lock(&l->lock);
    if (number) l->slot[(number - 1) % l->n_slots].is_made = false;
    l->released = number;
    pthread_cond_signal(&l->is_free);
    bool is_late = !s->is_made && number;
    double asked = is_late ? clock_seconds() : 0;
    while (!s->is_made) pthread_cond_wait(&l->is_made, &l->lock);
    pthread_mutex_unlock(&l->lock);
    if (is_late) {
        l->waits.n++;
        l->waits.seconds += clock_seconds() - asked;
    }
    return s;
}

/* ---- the interface ---- */

static void release(void *loader)
{
    Loader *l = loader;
    stop(l);
    for (int i = 0; i < l->n_slots; i++) arena_free(l->slot[i].batch.arena);
    for (int i = 0; i < l->n_makers; i++) arena_free(l->maker[i].scratch);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->is_free);
    pthread_cond_destroy(&l->is_made);
}

Loader *loader_new(Arena *a, const LoaderSettings *settings)
{
    const Sampler *sampler = settings->batches->sampler;
    int64_t batch_size = settings->batches->batch_size, n_samples = sampler->count(sampler);
    Loader *l = NEW(a, Loader);
    *l = (Loader){ .settings = *settings,
                   .batch_size = batch_size,
                   .n_samples = n_samples,
                   .n_slots = settings->prefetch + 1, /* one is the caller's */
                   .n_makers = settings->n_threads ? settings->n_threads : 1 };
    CHECK(l->batch_size > 0 && settings->prefetch >= 0 && settings->n_threads >= 0);
    l->slot = NEW_N(a, Slot, l->n_slots);
    for (int i = 0; i < l->n_slots; i++) l->slot[i].batch.arena = arena_new();
    l->maker = NEW_N(a, Maker, l->n_makers);
    for (int i = 0; i < l->n_makers; i++)
        l->maker[i] =
            (Maker){ .loader = l,
                     .sample = NEW_N(a, Sample, batch_size < n_samples ? batch_size : n_samples),
                     .scratch = arena_new() };
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->is_free, NULL);
    pthread_cond_init(&l->is_made, NULL);
    arena_on_free(a, release, l);
    return l;
}

void loader_check_ids(Loader *l, int64_t vocab_size)
{
    stop(l);
    l->vocab_size = vocab_size;
}

Error *loader_next(Loader *l, Batch **out)
{
    *out = NULL;
    if (!has_batch(l, l->position)) return NULL;
    Slot *s = next_slot(l);
    if (s->error) {
        Error *e = s->error;
        s->error = NULL;
        stop(l); /* a further call tries the same batch again */
        return e;
    }
    *out = &s->batch;
    l->position += l->batch_size;
    return NULL;
}

LoaderWaits loader_waits(const Loader *l)
{
    return l->waits;
}

int64_t loader_position(const Loader *l)
{
    return l->position;
}

Error *loader_seek(Loader *l, int64_t position)
{
    if (position < 0 || position > l->n_samples)
        return error_new(
            "data loader '%s' cannot continue at sample %lld: this rank has %lld samples",
            l->settings.tag, (long long)position, (long long)l->n_samples);
    stop(l);
    l->position = position;
    return NULL;
}

const char *loader_tag(const Loader *l)
{
    return l->settings.tag;
}

bool loader_pins_memory(const Loader *l)
{
    return l->settings.pin_memory;
}

int64_t loader_count(const Loader *l)
{
    return l->n_samples / l->batch_size;
}

int64_t loader_batch_size(const Loader *l)
{
    return l->batch_size;
}

SamplePlace loader_locate(const Loader *l, int64_t position, int64_t *index, Text *description)
{
    const Dataset *d = l->settings.dataset;
    const Sampler *s = l->settings.batches->sampler;
    *index = s->index(s, position);
    d->describe(d, *index, description);
    return d->locate ? d->locate(d, *index) : (SamplePlace){ 0 };
}

/* ---- the component ---- */

typedef struct Settings {
    const char *dataloader_tag;
    Dataset *dataset;
    BatchSampler *batch_sampler;
    Collator *collate_fn;
    int64_t num_workers;
    bool pin_memory;
} Settings;

enum { BATCHES_PER_WORKER = 2, MOST_WORKERS = 64 };

static const Field fields[] = {
    FIELD_STRING(Settings, dataloader_tag, NULL, "names the loader in progress and metrics"),
    FIELD_COMPONENT(Settings, dataset, Dataset, "dataset", NULL, "the samples"),
    FIELD_COMPONENT(Settings, batch_sampler, BatchSampler, "batch_sampler", NULL,
                    "their order and the batch size"),
    FIELD_COMPONENT(Settings, collate_fn, Collator, "collate_fn", "null",
                    "makes a batch of samples; null: stacks each array"),
    FIELD_INT(
        Settings, num_workers, NULL, 0, INFINITY,
        "0: batches are made when needed; else as many threads, at most 64, make two each ahead",
        .flags = FIELD_STRICT, .no_effect = "it only changes the speed"),
    FIELD_BOOL(Settings, pin_memory, NULL, "batches lie in pinned memory",
               .no_effect = "the CPU has no such memory"),
    { 0 },
};

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    int n_threads = (int)(s->num_workers < MOST_WORKERS ? s->num_workers : MOST_WORKERS);
    *out =
        loader_new(builder_arena(b), &(LoaderSettings){ .tag = s->dataloader_tag,
                                                        .dataset = s->dataset,
                                                        .batches = s->batch_sampler,
                                                        .collator = s->collate_fn,
                                                        .prefetch = n_threads * BATCHES_PER_WORKER,
                                                        .n_threads = n_threads,
                                                        .pin_memory = s->pin_memory });
    return NULL;
}

const ComponentDef data_loader_default = {
    .kind = "data_loader",
    .variant = "default",
    .doc = "batches of this rank in the sampler's order, made ahead in threads",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
