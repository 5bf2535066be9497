/* generate.c - prefill in chunks, then token by token. */
#include "train/generate.h"
#include "exec/schedule.h"
#include "train/last_stage.h"
#include <inttypes.h>

/* Longer chunks would need more memory and are no faster. */
enum { LONGEST_CHUNK = 256 };

struct Generator {
    Arena *arena;
    Session *session;
    const Model *model;
    const ModelInput *text;
    int64_t n_positions, position;
    Program *single; /* the program for one token */
    Tensor logits;   /* what it gave, in host memory */
};

Error *generator_new(Session *s, const Model *model, int64_t n_positions, Generator **out)
{
    Program *single;
    const ModelInput *text = model_text(model);
    if (!text)
        return error_new("model.%s reads more than token ids: it cannot continue a text",
                         model->name);
    TRY(session_generation_program(s, 1, 1, n_positions, &single));
    Arena *a = arena_new();
    Generator *g = NEW(a, Generator);
    *g = (Generator){ .arena = a,
                      .session = s,
                      .model = model,
                      .text = text,
                      .n_positions = n_positions,
                      .single = single };
    Error *e = last_stage_logits(s, single, a, &g->logits);
    if (e)
        generator_free(g);
    else
        *out = g;
    return e;
}

void generator_free(Generator *g)
{
    if (g) arena_free(g->arena);
}

Session *generator_session(const Generator *g)
{
    return g->session;
}

const ModelInput *generator_input(const Generator *g)
{
    return g->text;
}

/* Stale rows of the cache lie after the position, where causal attention does not look; at position
 * 0 linear attention takes nothing from it. */
void generator_restart(Generator *g)
{
    g->position = 0;
}

int64_t generator_position(const Generator *g)
{
    return g->position;
}

int64_t generator_limit(const Generator *g)
{
    return g->n_positions;
}

Error *generator_check(const Generator *g, int64_t position, const uint32_t *id, int64_t n)
{
    if (position + n > g->n_positions)
        return error_new("%" PRId64 " tokens after %" PRId64 " are more than the %" PRId64
                         " that a text may have",
                         n, position, g->n_positions);
    for (int64_t i = 0; i < n; i++)
        if (id[i] >= g->model->vocab_size)
            return error_new("token id %" PRIu32 " is outside of the model's vocabulary of %" PRId64
                             ": tokenizer and model do not belong together",
                             id[i], g->model->vocab_size);
    return NULL;
}

/* The last token is left for the program that gives logits. */
static int64_t next_chunk(int64_t n)
{
    int64_t chunk = 1;
    while (chunk * 2 < n && chunk < LONGEST_CHUNK) chunk *= 2;
    return chunk;
}

static Error *run_chunk(Generator *g, const uint32_t *id, int64_t n)
{
    Program *p = g->single;
    if (n > 1) TRY(session_generation_program(g->session, 1, n, g->n_positions, &p));
    Dtype t = program_input(p, g->text->name, 0)->dtype;
    int64_t ids[LONGEST_CHUNK]; /* of any dtype of ids */
    for (int64_t i = 0; i < n; i++) dtype_set(t, ids, i, id[i]);
    TRY(program_write(p, g->text->name, 0, ids));
    TRY(program_run_phases(p, RUN_FORWARD, &(RunTime){ .position = g->position, .loss_scale = 1 }));
    if (p == g->single) TRY(last_stage_read(g->session, p, &g->logits, g->logits.data));
    g->position += n;
    return NULL;
}

Error *generator_read(Generator *g, const uint32_t *id, int64_t n)
{
    CHECK(n > 0);
    TRY(generator_check(g, g->position, id, n));
    while (n > 0) {
        int64_t chunk = next_chunk(n);
        TRY(run_chunk(g, id, chunk));
        id += chunk;
        n -= chunk;
    }
    return NULL;
}

const Tensor *generator_logits(const Generator *g)
{
    CHECK(g->position > 0);
    return &g->logits;
}
