/* checkpoint_samples.c - checkpoint_samples.text: prompts that are continued at each checkpoint. */
#include "train/checkpoint_samples.h"
#include "base/file.h"
#include "base/json.h"
#include "config/builder.h"
#include "monitor/run_record.h"
#include "train/text_inference.h"
#include <inttypes.h>
#include <string.h>

struct CheckpointSamples {
    Tokenizer *tokenizer;
    StringList prompts;
    int64_t max_new_tokens, top_k, seed;
    double temperature, top_p;
    const char *eod_token;
};

struct SampleWriter {
    const CheckpointSamples *settings;
    TextInference inference;
    Generator *generator;
    Consensus *together;
    const char *path; /* NULL: this rank does not write */
    Arena *arena;
};

static Error *count_tokens(const Tokenizer *t, const char *prompt, int64_t *out)
{
    Ids ids = { 0 };
    Encoder *encoder = t->encoder_new(t);
    Error *e = t->encode(encoder, str_of(prompt), true, &ids);
    t->encoder_free(encoder);
    if (!e && !ids.n) e = error_new("the tokenizer makes no token of it");
    *out = ids.n;
    ids_free(&ids);
    return error_wrap(e, "checkpoint_samples: the prompt \"%s\"", prompt);
}

/* The most positions that a prompt and its answer need, if the model has as many. */
static Error *count_positions(const CheckpointSamples *s, const Model *m, int64_t *out)
{
    *out = 0;
    for (int64_t i = 0; i < s->prompts.n; i++) {
        int64_t n;
        TRY(count_tokens(s->tokenizer, s->prompts.item[i], &n));
        if (n >= m->sequence_length)
            return error_new("checkpoint_samples: the prompt \"%s\" has %" PRId64
                             " tokens; allowed: at most %" PRId64 ", one less than the model's "
                             "sequence_length",
                             s->prompts.item[i], n, m->sequence_length - 1);
        if (n + s->max_new_tokens > *out) *out = n + s->max_new_tokens;
    }
    if (*out > m->sequence_length) *out = m->sequence_length;
    return NULL;
}

static Error *check_layout(const Mesh *m)
{
    static const struct {
        MeshAxis axis;
        const char *what;
    } not [] = { { MESH_PP, "pipeline_parallel_degree" }, { MESH_CP, "context_parallel_degree" } };
    for (int i = 0; i < 2; i++)
        if (m->size[not [i].axis] > 1)
            return error_new("checkpoint_samples: texts cannot be continued with %s %" PRId64
                             "; allowed is 1",
                             not [i].what, (int64_t)m->size[not [i].axis]);
    return NULL;
}

Error *samples_check(const CheckpointSamples *s, const Model *m, const Mesh *mesh)
{
    int64_t n_positions;
    TRY(check_layout(mesh));
    return count_positions(s, m, &n_positions);
}

static Error *begin(const TrainingJob *job, Session *s, SampleWriter *w)
{
    const Model *m = job->state->model;
    int64_t n_positions;
    TRY(check_layout(&job->mesh));
    TRY(count_positions(w->settings, m, &n_positions));
    return error_wrap(generator_new(s, m, n_positions, &w->generator), "checkpoint_samples");
}

Error *samples_begin(const TrainingJob *job, Session *s, SampleWriter **out)
{
    *out = NULL;
    if (!job->samples) return NULL;
    const CheckpointSamples *settings = job->samples;
    Arena *a = arena_new();
    SampleWriter *w = NEW(a, SampleWriter);
    const bool writes = job->folder && consensus_leads(job->consensus);
    *w = (SampleWriter){ .settings = settings,
                         .inference = { .model = job->state->model,
                                        .tokenizer = settings->tokenizer,
                                        .eod_token = settings->eod_token },
                         .together = job->consensus,
                         .path = writes ? path_join(a, job->folder, SAMPLES_FILE) : NULL,
                         .arena = a };
    *out = w;
    return begin(job, s, w);
}

void samples_free(SampleWriter *w)
{
    if (!w) return;
    generator_free(w->generator);
    arena_free(w->arena);
}

/* The lines of earlier steps. */
static Error *keep_earlier(Arena *a, const char *path, int64_t step, Text *out)
{
    Str old;
    long long its;
    if (!file_exists(path)) return NULL;
    TRY(file_read(a, path, &old));
    for (const char *p = old.ptr, *end = old.ptr + old.len; p < end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        if (!newline) break;
        if (sscanf(p, "{\"step\": %lld,", &its) == 1 && its < step)
            text_add(out, p, (size_t)(newline + 1 - p));
        p = newline + 1;
    }
    return NULL;
}

static void put_line(int64_t step, const Asked *p, Text *lines)
{
    text_printf(lines, "{\"step\": %" PRId64 ", \"prompt\": ", step);
    text_json_string(lines, str_of(p->text));
    text_puts(lines, ", \"text\": ");
    text_json_string(lines, (Str){ p->answer.ptr ? p->answer.ptr : "", p->answer.len });
    text_puts(lines, "}\n");
}

/* One after the other: several at once would need caches beside what the training holds. */
static Error *continue_prompts(const SampleWriter *w, int64_t step, Text *lines, bool *is_stopped)
{
    const CheckpointSamples *s = w->settings;
    const int64_t n = s->prompts.n;
    const AnswerSettings settings = {
        .sampling = { .temperature = s->temperature, .top_k = s->top_k, .top_p = s->top_p },
        .seed = (uint64_t)s->seed,
        .max_new_tokens = s->max_new_tokens,
        .together = w->together
    };
    Arena *a = arena_new();
    Asked *asked = NEW_N(a, Asked, n);
    for (int64_t i = 0; i < n; i++) asked[i] = (Asked){ .text = s->prompts.item[i], .number = i };
    Error *e = text_inference_answer_all(&w->inference, w->generator, 1, asked, n, &settings, NULL);
    for (int64_t i = 0; i < n; i++) {
        put_line(step, &asked[i], lines);
        *is_stopped |= asked[i].end == ANSWER_STOPPED;
        text_free(&asked[i].answer);
    }
    arena_free(a);
    return e;
}

Error *samples_write(SampleWriter *w, int64_t step)
{
    if (!w) return NULL;
    Arena *a = arena_new();
    Text lines = { 0 };
    bool is_stopped = false;
    Error *e = w->path ? keep_earlier(a, w->path, step, &lines) : NULL;
    e = consensus_error(w->together, e);
    if (!e) e = continue_prompts(w, step, &lines, &is_stopped);
    if (!e && w->path && !is_stopped) e = file_write(w->path, lines.ptr, lines.len);
    e = consensus_error(w->together, e);
    text_free(&lines);
    arena_free(a);
    return error_wrap(e, "texts after step %" PRId64, step);
}

/* ---- the component ---- */

static Error *build(Builder *b, const void *settings, void **out)
{
    CheckpointSamples *s = NEW(builder_arena(b), CheckpointSamples);
    *s = *(const CheckpointSamples *)settings;
    *out = s;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(CheckpointSamples, tokenizer, Tokenizer, "tokenizer", NULL, "the tokenizer of the training data"),
    FIELD_STRINGS(CheckpointSamples, prompts, NULL, 1, 0, "texts to continue at each checkpoint"),
    FIELD_INT(CheckpointSamples, max_new_tokens, "64", 1, INFINITY, "tokens of an answer at most"),
    FIELD_FLOAT(CheckpointSamples, temperature, "0", 0, INFINITY, "above 0: tokens are drawn by softmax(logits / temperature); 0: the most likely one is taken"),
    FIELD_INT(CheckpointSamples, top_k, "0", 0, INFINITY, "with a temperature: only so many of the most likely tokens; 0: all"),
    FIELD_FLOAT(CheckpointSamples, top_p, "1", 0, 1, "with a temperature: only the fewest tokens that are together at least so probable"),
    FIELD_INT(CheckpointSamples, seed, "0", 0, INFINITY, "of what is drawn"),
    FIELD_STRING(CheckpointSamples, eod_token, "null", "token that ends an answer; null: none does"),
    { 0 },
};
/* clang-format on */

const ComponentDef checkpoint_samples_text = {
    .kind = "checkpoint_samples",
    .variant = "text",
    .doc = "continues prompts at each checkpoint, for the board; into samples.jsonl of the "
           "experiment's folder",
    .fields = fields,
    .settings_size = sizeof(CheckpointSamples),
    .build = build,
};
