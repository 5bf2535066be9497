/* texts.c - a program for one token of each text, and caches that are filled from the generator's.
 */
#include "train/texts.h"
#include "exec/schedule.h"
#include "train/last_stage.h"
#include <string.h>

struct Texts {
    Arena *arena;
    Generator *generator;
    ParamStore *store;
    Program *program; /* one token of each; NULL: there is a single text, the generator's */
    const char *input;
    Dtype id_dtype;
    int64_t n;
    int64_t *position; /* of each */
    int64_t *ids;      /* what is read next, of any dtype of ids */
    Tensor logits;     /* [n 1 v], in host memory */
};

int64_t texts_that_fit(Generator *g, int64_t n, double *bytes)
{
    Session *s = generator_session(g);
    const ParamStore *store = session_store(s);
    const double room = 0.75 * (double)session_free_bytes(s); /* the rest for what is computed */
    *bytes = 0;
    for (int64_t k = 0; k < store_count(store); k++) {
        const Stored *x = store_at(store, k);
        if (x->is_cache && x->tensor.size[0] == 1) *bytes += (double)tensor_bytes(&x->tensor);
    }
    if (room <= 0 || *bytes <= 0 || (double)n * *bytes <= room) return n;
    return room < *bytes ? 1 : (int64_t)(room / *bytes);
}

Error *texts_new(Generator *g, int64_t n, Texts **out)
{
    Program *p = NULL;
    Session *s = generator_session(g);
    CHECK(n >= 1 && n <= MAX_TEXTS);
    if (n > 1) TRY(session_generation_program(s, n, 1, generator_limit(g), &p));
    Arena *a = arena_new();
    Texts *t = NEW(a, Texts);
    *t = (Texts){ .arena = a,
                  .generator = g,
                  .store = session_store(s),
                  .program = p,
                  .input = generator_input(g)->name,
                  .n = n,
                  .position = NEW_N(a, int64_t, n),
                  .ids = NEW_N(a, int64_t, n) };
    if (p) {
        t->id_dtype = program_input(p, t->input, 0)->dtype;
        Error *e = last_stage_logits(s, p, a, &t->logits);
        if (e) {
            texts_free(t);
            return e;
        }
    }
    *out = t;
    return NULL;
}

void texts_free(Texts *t)
{
    if (t) arena_free(t->arena);
}

int64_t texts_count(const Texts *t)
{
    return t->n;
}

int64_t texts_position(const Texts *t, int64_t i)
{
    return t->position[i];
}

/* The cache of all texts that belongs to one of a single text. */
static const Stored *shared_cache(const Texts *t, const Stored *one, Arena *a)
{
    return store_find(t->store, arena_printf(a, "%s.%lld", one->name, (long long)t->n));
}

/* Rows [0, n) of the generator's caches become those of text i. What is kept as a whole is one row.
 */
static Error *copy_caches(Texts *t, int64_t i, int64_t n)
{
    Arena *a = arena_new();
    Error *e = NULL;
    for (int64_t k = 0; !e && k < store_count(t->store); k++) {
        const Stored *one = store_at(t->store, k);
        const Stored *all = one->is_cache ? shared_cache(t, one, a) : NULL;
        if (!all) continue;
        const size_t text = tensor_bytes(&one->tensor);
        const int64_t rows = one->tensor.size[1];
        e = store_copy(t->store, &all->tensor, text * (size_t)i, &one->tensor,
                       text / (size_t)rows * (size_t)(n < rows ? n : rows));
    }
    arena_free(a);
    return e;
}

static char *logits_at(const Texts *t, int64_t i)
{
    return (char *)t->logits.data + tensor_bytes(&t->logits) / (size_t)t->n * (size_t)i;
}

Error *texts_begin(Texts *t, int64_t i, const uint32_t *id, int64_t n)
{
    generator_restart(t->generator);
    TRY(generator_read(t->generator, id, n));
    t->position[i] = n;
    if (!t->program) return NULL;
    const Tensor *logits = generator_logits(t->generator);
    memcpy(logits_at(t, i), logits->data, tensor_bytes(logits));
    return copy_caches(t, i, n);
}

void texts_end(Texts *t, int64_t i)
{
    t->position[i] = 0;
}

/* A text that does not grow is given a token, too: what that leaves in its cache lies behind its
 * end, where nobody looks before it is overwritten, what is kept as a whole is told to stay, and
 * its logits are kept. */
static Error *run(Texts *t, const uint32_t *id, const bool *grows)
{
    RunTime now = { .loss_scale = 1, .n_texts = t->n };
    const size_t row = tensor_bytes(&t->logits) / (size_t)t->n;
    Tensor made = t->logits;
    for (int64_t i = 0; i < t->n; i++) {
        dtype_set(t->id_dtype, t->ids, i, grows[i] ? id[i] : 0);
        now.text_position[i] = t->position[i];
        now.text_waits[i] = !grows[i];
    }
    Arena *a = arena_new();
    made.data = arena_alloc(a, tensor_bytes(&made));
    Error *e = program_write(t->program, t->input, 0, t->ids);
    if (!e) e = program_run_phases(t->program, RUN_FORWARD, &now);
    if (!e) e = last_stage_read(generator_session(t->generator), t->program, &made, made.data);
    for (int64_t i = 0; !e && i < t->n; i++)
        if (grows[i]) memcpy(logits_at(t, i), (char *)made.data + row * (size_t)i, row);
    arena_free(a);
    return e;
}

Error *texts_grow(Texts *t, const uint32_t *id, const bool *grows)
{
    if (!t->program) {
        if (grows[0]) TRY(generator_read(t->generator, id, 1));
    } else {
        for (int64_t i = 0; i < t->n; i++)
            if (grows[i]) TRY(generator_check(t->generator, t->position[i], &id[i], 1));
        TRY(run(t, id, grows));
    }
    for (int64_t i = 0; i < t->n; i++) t->position[i] += grows[i];
    return NULL;
}

Tensor texts_logits(const Texts *t, int64_t i)
{
    if (!t->program) return *generator_logits(t->generator);
    Tensor one = t->logits;
    one.size[0] = 1;
    one.data = logits_at(t, i);
    return one;
}
