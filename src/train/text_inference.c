/* text_inference.c - one prompt in, the answer printed as it grows. */
#include "train/text_inference.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/signal.h"
#include "config/builder.h"
#include "tokenizer/decode/stream.h"
#include "train/sample.h"
#include <inttypes.h>
#include <string.h>

/* While one answer is made. */
typedef struct Answer {
    const TextInference *inference;
    Generator *generator;
    const AnswerSettings *settings;
    FILE *to;
    Ids prompt;
    DecodeStream *stream;
    Text piece; /* of the text, not printed yet: a stop may begin at its end */
    uint32_t *seen;
    int64_t n_seen, cap_seen; /* tokens of prompt and answer */
} Answer;

static Error *encode(Answer *a, const char *prompt)
{
    const Tokenizer *t = a->inference->tokenizer;
    Encoder *encoder = t->encoder_new(t);
    /* a chat template writes special tokens itself */
    Error *e = t->encode(encoder, str_of(prompt), !a->settings->chat, &a->prompt);
    t->encoder_free(encoder);
    if (!e && a->prompt.n == 0) e = error_new("the tokenizer makes no token of it");
    return error_wrap(e, "the prompt \"%s\"", prompt);
}

static Error *decode(const Tokenizer *t, const uint32_t *id, int64_t n, Text *out)
{
    text_clear(out);
    return t->decode(t, id, n, false, out);
}

/* The next bytes of the answer. */
static void give(const Answer *a, const char *text, size_t n)
{
    if (a->settings->kept) text_add(a->settings->kept, text, n);
    if (!a->to) return;
    fwrite(text, 1, n, a->to);
    fflush(a->to);
}

static void give_piece(Answer *a)
{
    if (a->piece.len) give(a, a->piece.ptr, a->piece.len);
    text_clear(&a->piece);
}

/* The bytes at the end of the piece that a stop text may begin with. */
static size_t held_back(const Answer *a)
{
    size_t longest = 0;
    for (int64_t i = 0; i < a->settings->stops.n; i++) {
        const char *stop = a->settings->stops.item[i];
        size_t n = strlen(stop) - 1;
        if (n > a->piece.len) n = a->piece.len;
        while (n > longest && memcmp(a->piece.ptr + a->piece.len - n, stop, n)) n--;
        if (n > longest) longest = n;
    }
    return longest;
}

/* Gives what cannot be part of a stop text any more; true if one is there, which is dropped. */
static bool give_until_stop(Answer *a)
{
    const char *first = NULL;
    for (int64_t i = 0; i < a->settings->stops.n && a->piece.len; i++) {
        const char *at = strstr(a->piece.ptr, a->settings->stops.item[i]);
        if (at && (!first || at < first)) first = at;
    }
    const size_t n = first ? (size_t)(first - a->piece.ptr) : a->piece.len - held_back(a);
    if (n) give(a, a->piece.ptr, n);
    if (first) {
        text_clear(&a->piece);
        return true;
    }
    if (n) memmove(a->piece.ptr, a->piece.ptr + n, a->piece.len - n + 1);
    a->piece.len -= n;
    return false;
}

static Error *print_prompt(Answer *a)
{
    if (!a->to) return NULL;
    TRY(decode(a->inference->tokenizer, a->prompt.id, a->prompt.n, &a->piece));
    fprintf(a->to, "--------------------PROMPT--------------------\nPrompt:  ");
    fwrite(a->piece.ptr, 1, a->piece.len, a->to);
    fprintf(a->to, "\n\n--------------------OUTPUT--------------------\n\n");
    fflush(a->to);
    text_clear(&a->piece);
    return NULL;
}

/* As in the original any token counts that reads like the end token. */
static Error *is_end(const Answer *a, uint32_t id, bool *out)
{
    Text text = { 0 };
    const char *const end[] = { a->inference->eod_token,
                                a->settings->chat ? chat_end(a->settings->chat) : NULL };
    *out = false;
    if (!end[0] && !end[1]) return NULL;
    Error *e = decode(a->inference->tokenizer, &id, 1, &text);
    for (int i = 0; !e && i < 2; i++) *out |= end[i] && str_is((Str){ text.ptr, text.len }, end[i]);
    text_free(&text);
    return e;
}

static void remember(Answer *a, Arena *arena, const uint32_t *id, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        a->seen = arena_grow(arena, a->seen, a->n_seen, &a->cap_seen, sizeof *a->seen);
        a->seen[a->n_seen++] = id[i];
    }
}

static Error *choose(const Answer *a, uint32_t *id)
{
    const AnswerSettings *s = a->settings;
    const uint64_t position = (uint64_t)a->n_seen;
    const uint64_t key = rng_key(s->seed, RNG_SAMPLE, position, (uint64_t)s->number);
    return error_wrap(
        sample_token(generator_logits(a->generator), &s->sampling, a->seen, a->n_seen, key, id),
        "position %" PRIu64, position);
}

/* Whether any rank got a stop signal. */
static Error *hear_stop(const Answer *a, bool *out)
{
    double wanted = signal_stop_requested();
    TRY(consensus_reach(a->settings->together, NULL, &wanted, 1));
    *out = wanted > 0;
    return NULL;
}

/* Reads the last n of the tokens that were seen. What does not fit makes a sliding context begin
 * anew with as many of the last ones as fill half of it. */
static Error *read_seen(const Answer *a, int64_t n)
{
    const int64_t limit = generator_limit(a->generator);
    if (a->settings->slides && generator_position(a->generator) + n > limit) {
        generator_restart(a->generator);
        n = (limit + 1) / 2;
    }
    return generator_read(a->generator, a->seen + a->n_seen - n, n);
}

/* The tokens one by one; the last one is not read, since nothing follows it. */
static Error *extend(Answer *a, Arena *arena, int64_t n_new, AnswerEnd *end)
{
    const uint32_t *next = a->prompt.id;
    int64_t n_next = a->prompt.n;
    uint32_t id;
    *end = ANSWER_LIMIT;
    for (int64_t i = 0; i < n_new; i++) {
        bool ends = false;
        remember(a, arena, next, n_next);
        TRY(read_seen(a, n_next));
        bool is_stopped;
        TRY(hear_stop(a, &is_stopped));
        if (is_stopped) {
            *end = ANSWER_STOPPED;
            return NULL;
        }
        TRY(choose(a, &id));
        TRY(is_end(a, id, &ends));
        if (ends) {
            *end = ANSWER_EOD;
            return NULL;
        }
        TRY(decode_stream_add(a->stream, id, &a->piece));
        if (give_until_stop(a)) {
            *end = ANSWER_TEXT;
            return NULL;
        }
        next = &id;
        n_next = 1;
    }
    return NULL;
}

static Error *count_new(const Answer *a, int64_t *out)
{
    int64_t most = generator_limit(a->generator), room = most - a->prompt.n;
    if (a->settings->slides) {
        *out = a->settings->max_new_tokens;
        return NULL;
    }
    if (room <= 0)
        return error_usage("the prompt has %" PRId64 " tokens; allowed: at most %" PRId64
                           ", since prompt and answer may have %" PRId64 " together",
                           a->prompt.n, most - 1, most);
    *out = room < a->settings->max_new_tokens ? room : a->settings->max_new_tokens;
    return NULL;
}

/* Of the whole answer, the prompt's reading included. */
static void print_speed(const Answer *a, double seconds)
{
    const int64_t n = a->n_seen;
    log_info("%" PRId64 " tokens of the prompt and %" PRId64
             " of the answer in %.2f s: %.1f tokens/s",
             a->prompt.n, n - a->prompt.n, seconds, (double)n / (seconds > 0 ? seconds : 1e-9));
}

static Error *answer(Answer *a, Arena *arena, const char *prompt, AnswerEnd *end)
{
    static const char *const last_line[] = {
        [ANSWER_EOD] = "\n<reached end of document token>\n",
        [ANSWER_LIMIT] = "\n max tokens reached\n",
        [ANSWER_STOPPED] = "closing app...\n",
        [ANSWER_TEXT] = "\n<reached stop text>\n",
    };
    int64_t n_new = 0;
    TRY(encode(a, prompt));
    TRY(count_new(a, &n_new));
    TRY(print_prompt(a));
    generator_restart(a->generator);
    const double from = clock_seconds();
    TRY(extend(a, arena, n_new, end));
    if (*end != ANSWER_TEXT) TRY(decode_stream_finish(a->stream, &a->piece));
    give_piece(a);
    if (a->settings->print_speed) print_speed(a, clock_seconds() - from);
    if (!a->to) return NULL;
    fputs(last_line[*end], a->to);
    if (fflush(a->to) || ferror(a->to)) return error_new("the answer cannot be written");
    return NULL;
}

Error *text_inference_answer(const TextInference *t, Generator *g, const char *prompt,
                             const AnswerSettings *s, FILE *to, AnswerEnd *end)
{
    Answer a = { .inference = t,
                 .generator = g,
                 .settings = s,
                 .to = to,
                 .stream = decode_stream_new(t->tokenizer, false) };
    Arena *arena = arena_new();
    Error *e = s->chat ? chat_text(s->chat, arena, s->system, prompt, &prompt) : NULL;
    if (!e) e = answer(&a, arena, prompt, end);
    arena_free(arena);
    decode_stream_free(a.stream);
    ids_free(&a.prompt);
    text_free(&a.piece);
    return e;
}

/* ---- the component ---- */

typedef struct Settings {
    Model *model;
    Tokenizer *tokenizer;
    const char *prompt_template;
    int64_t sequence_length;
    double temperature;
    const char *eod_token;
    DeviceChoice device;
} Settings;

static Error *check(const void *settings)
{
    const Settings *s = settings;
    PromptTemplate unused;
    Arena *a = arena_new();
    Error *e = prompt_template_parse(a, s->prompt_template, &unused);
    arena_free(a);
    return error_join(e, device_choice_check(&s->device));
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    TextInference *t = NEW(builder_arena(b), TextInference);
    *t = (TextInference){ .model = s->model,
                          .tokenizer = s->tokenizer,
                          .sequence_length = s->sequence_length,
                          .temperature = s->temperature,
                          .eod_token = s->eod_token,
                          .device = s->device };
    *out = t;
    return prompt_template_parse(builder_arena(b), s->prompt_template, &t->prompt_template);
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model that continues the text"),
    FIELD_COMPONENT(Settings, tokenizer, Tokenizer, "tokenizer", NULL, "the tokenizer it was trained with"),
    FIELD_STRING(Settings, prompt_template, NULL, "text of the prompt; each {name} in it is asked for, {{ and }} stand for braces"),
    FIELD_INT(Settings, sequence_length, NULL, 1, INFINITY, "tokens that prompt and answer may have together"),
    FIELD_FLOAT(Settings, temperature, "1.0", 0, INFINITY, "above 0: tokens are drawn by softmax(logits / temperature); 0: the most likely one is taken"),
    FIELD_STRING(Settings, eod_token, "<eod>", "token that ends an answer; null: none does", .flags = FIELD_NULLABLE),
    FIELD_UNION(Settings, device, DeviceChoice, device_choice_fields, NULL, "where to compute"),
    { 0 },
};
/* clang-format on */

const ComponentDef inference_component_text = {
    .kind = "inference_component",
    .variant = "text",
    .doc = "continues prompts with a model",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
