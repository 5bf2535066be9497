/* text_inference.c - prompts in, answers that grow side by side out. */
#include "train/text_inference.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/signal.h"
#include "config/builder.h"
#include "train/answer.h"
#include "train/texts.h"
#include <inttypes.h>

/* While prompts are answered. */
typedef struct Work {
    const TextInference *inference;
    const AnswerSettings *settings;
    Texts *texts;
    int64_t limit; /* tokens of a text */
    FILE *to;
    Asked *asked;
    int64_t n, next;           /* prompts, and the first that nobody answers yet */
    Answer *answer[MAX_TEXTS]; /* NULL: the place is free */
    Asked *of[MAX_TEXTS];
    int64_t n_prompt, n_new; /* tokens so far */
} Work;

static Error *at(const Asked *p, Error *e)
{
    return p->place ? error_wrap(e, "%s", p->place) : e;
}

static Error *open_answer(const Work *w, Asked *p, FILE *to, Answer **out)
{
    AnswerSettings s = *w->settings;
    s.number = p->number;
    return at(p, answer_open(w->inference, &s, p->text, w->limit, to, &p->answer, out));
}

/* What cannot be answered is told before anything is. */
static Error *check_prompts(const Work *w)
{
    for (int64_t i = 0; w->n > 1 && i < w->n; i++) {
        Answer *unused = NULL;
        TRY(open_answer(w, &w->asked[i], NULL, &unused));
        answer_free(unused);
    }
    return NULL;
}

/* Whether any rank got a stop signal. */
static Error *hear_stop(const Work *w, bool *out)
{
    double wanted = signal_stop_requested();
    TRY(consensus_reach(w->settings->together, NULL, &wanted, 1));
    *out = wanted > 0;
    return NULL;
}

static Error *begin_text(Work *w, int64_t i)
{
    Answer **a = &w->answer[i];
    Asked *p = w->of[i] = &w->asked[w->next++];
    TRY(open_answer(w, p, w->to, a));
    /* a long prompt of a sliding context begins in its last half */
    const int64_t n = (*a)->n_seen > w->limit ? (w->limit + 1) / 2 : (*a)->n_seen;
    w->n_prompt += (*a)->n_prompt;
    return at(p, texts_begin(w->texts, i, (*a)->seen + (*a)->n_seen - n, n));
}

static Error *end_text(Work *w, int64_t i)
{
    Answer *a = w->answer[i];
    Error *e = answer_close(a);
    w->of[i]->end = a->end;
    w->n_new += a->n_seen - a->n_prompt;
    answer_free(a);
    w->answer[i] = NULL;
    texts_end(w->texts, i);
    return e;
}

/* Reads the last token of each answer. A full context that slides begins anew with the last half of
 * what was seen. */
static Error *read_tokens(Work *w)
{
    uint32_t id[MAX_TEXTS] = { 0 };
    bool grows[MAX_TEXTS] = { false }, any = false;
    for (int64_t i = 0; i < texts_count(w->texts); i++) {
        const Answer *a = w->answer[i];
        if (!a) continue;
        const int64_t half = (w->limit + 1) / 2;
        if (texts_position(w->texts, i) == w->limit) {
            TRY(texts_begin(w->texts, i, a->seen + a->n_seen - half, half));
            continue;
        }
        id[i] = a->seen[a->n_seen - 1];
        any |= grows[i] = true;
    }
    return any ? texts_grow(w->texts, id, grows) : NULL;
}

/* A token for each answer; those that are over make place for the next prompts. */
static Error *take_tokens(Work *w, bool is_stopped, bool *any)
{
    *any = false;
    for (int64_t i = 0; i < texts_count(w->texts); i++) {
        Answer *a = w->answer[i];
        if (!a) continue;
        const Tensor logits = texts_logits(w->texts, i);
        if (is_stopped)
            answer_end(a, ANSWER_STOPPED);
        else
            TRY(at(w->of[i], answer_take(a, &logits)));
        if (a->is_over)
            TRY(end_text(w, i));
        else
            *any = true;
    }
    return NULL;
}

static Error *work(Work *w)
{
    bool is_stopped = false, any = false;
    TRY(check_prompts(w));
    while (!is_stopped && (any || w->next < w->n)) {
        if (any) TRY(read_tokens(w));
        for (int64_t i = 0; i < texts_count(w->texts) && w->next < w->n; i++)
            if (!w->answer[i]) TRY(begin_text(w, i));
        TRY(hear_stop(w, &is_stopped));
        TRY(take_tokens(w, is_stopped, &any));
    }
    for (; w->next < w->n; w->next++) w->asked[w->next].end = ANSWER_STOPPED;
    return NULL;
}

/* Of the whole, the prompts' reading included. */
static void print_speed(const Work *w, double seconds)
{
    const char *many = w->n > 1 ? "s" : "";
    log_info("%" PRId64 " tokens of the prompt%s and %" PRId64
             " of the answer%s in %.2f s: %.1f tokens/s",
             w->n_prompt, many, w->n_new, many, seconds,
             (double)(w->n_prompt + w->n_new) / (seconds > 0 ? seconds : 1e-9));
}

/* As many texts as fit on every rank. */
static Error *keep_to_memory(Generator *g, Consensus *together, int64_t *at_once)
{
    char one[32];
    double bytes, most_that_miss;
    const int64_t wanted = *at_once;
    most_that_miss = (double)(wanted - texts_that_fit(g, wanted, &bytes));
    TRY(consensus_reach(together, NULL, &most_that_miss, 1));
    *at_once = wanted - (int64_t)most_that_miss;
    format_bytes(bytes, one);
    if (*at_once < wanted && consensus_leads(together))
        log_info("prompts are answered %" PRId64 " at a time, not %" PRId64
                 ": each takes %s for its cache, and no more is free",
                 *at_once, wanted, one);
    return NULL;
}

Error *text_inference_answer_all(const TextInference *t, Generator *g, int64_t at_once,
                                 Asked *asked, int64_t n, const AnswerSettings *s, FILE *to)
{
    Work w = {
        .inference = t, .settings = s, .limit = generator_limit(g), .to = to, .asked = asked, .n = n
    };
    if (n == 0) return NULL;
    if (at_once > n) at_once = n;
    if (at_once > 1) TRY(keep_to_memory(g, s->together, &at_once));
    TRY(texts_new(g, at_once, &w.texts));
    const double from = clock_seconds();
    Error *e = work(&w);
    for (int64_t i = 0; i < MAX_TEXTS; i++) answer_free(w.answer[i]);
    texts_free(w.texts);
    if (!e && s->print_speed) print_speed(&w, clock_seconds() - from);
    return e;
}

Error *text_inference_answer(const TextInference *t, Generator *g, const char *prompt,
                             const AnswerSettings *s, FILE *to, AnswerEnd *end)
{
    Asked one = { .text = prompt, .number = s->number };
    Error *e = text_inference_answer_all(t, g, 1, &one, 1, s, to);
    *end = one.end;
    text_free(&one.answer);
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
