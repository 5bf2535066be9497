/* answer.c - draws tokens, shows what they mean, and knows when it is over. */
#include "train/answer.h"
#include "base/rng.h"
#include <inttypes.h>
#include <string.h>

static void remember(Answer *a, const uint32_t *id, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        a->seen = arena_grow(a->arena, a->seen, a->n_seen, &a->cap_seen, sizeof *a->seen);
        a->seen[a->n_seen++] = id[i];
    }
}

static Error *encode(Answer *a, const char *prompt)
{
    const Tokenizer *t = a->inference->tokenizer;
    Encoder *encoder = t->encoder_new(t);
    /* a chat template writes special tokens itself */
    Ids ids = { 0 };
    Error *e = t->encode(encoder, str_of(prompt), !a->settings.chat, &ids);
    t->encoder_free(encoder);
    if (!e) remember(a, ids.id, ids.n);
    a->n_prompt = a->n_seen;
    ids_free(&ids);
    if (!e && a->n_prompt == 0) e = error_new("the tokenizer makes no token of it");
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
    if (a->kept) text_add(a->kept, text, n);
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
    for (int64_t i = 0; i < a->settings.stops.n; i++) {
        const char *stop = a->settings.stops.item[i];
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
    for (int64_t i = 0; i < a->settings.stops.n && a->piece.len; i++) {
        const char *at = strstr(a->piece.ptr, a->settings.stops.item[i]);
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
    TRY(decode(a->inference->tokenizer, a->seen, a->n_prompt, &a->piece));
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
                                a->settings.chat ? chat_end(a->settings.chat) : NULL };
    *out = false;
    if (!end[0] && !end[1]) return NULL;
    Error *e = decode(a->inference->tokenizer, &id, 1, &text);
    for (int i = 0; !e && i < 2; i++) *out |= end[i] && str_is((Str){ text.ptr, text.len }, end[i]);
    text_free(&text);
    return e;
}

static Error *choose(const Answer *a, const Tensor *logits, uint32_t *id)
{
    const AnswerSettings *s = &a->settings;
    const uint64_t position = (uint64_t)a->n_seen;
    const uint64_t key = rng_key(s->seed, RNG_SAMPLE, position, (uint64_t)s->number);
    return error_wrap(sample_token(logits, &s->sampling, a->seen, a->n_seen, key, id),
                      "position %" PRIu64, position);
}

/* How many tokens it may get behind the prompt. */
static Error *count_new(Answer *a, int64_t most)
{
    const int64_t room = most - a->n_prompt, wanted = a->settings.max_new_tokens;
    a->n_left = a->settings.slides || wanted < room ? wanted : room;
    if (a->settings.slides || room > 0) return NULL;
    return error_usage("the prompt has %" PRId64 " tokens; allowed: at most %" PRId64
                       ", since prompt and answer may have %" PRId64 " together",
                       a->n_prompt, most - 1, most);
}

static Error *prepare(Answer *a, const char *prompt, int64_t most)
{
    const AnswerSettings *s = &a->settings;
    if (s->chat) TRY(chat_text(s->chat, a->arena, s->system, prompt, &prompt));
    TRY(encode(a, prompt));
    return count_new(a, most);
}

Error *answer_open(const TextInference *t, const AnswerSettings *s, const char *prompt,
                   int64_t most, FILE *to, Text *kept, Answer **out)
{
    Arena *arena = arena_new();
    Answer *a = NEW(arena, Answer);
    *a = (Answer){ .arena = arena,
                   .inference = t,
                   .settings = *s,
                   .to = to,
                   .kept = kept,
                   .stream = decode_stream_new(t->tokenizer, false) };
    Error *e = prepare(a, prompt, most);
    if (!e) e = print_prompt(a);
    if (e)
        answer_free(a);
    else
        *out = a;
    return e;
}

void answer_free(Answer *a)
{
    if (!a) return;
    decode_stream_free(a->stream);
    text_free(&a->piece);
    arena_free(a->arena);
}

void answer_end(Answer *a, AnswerEnd end)
{
    a->is_over = true;
    a->end = end;
}

Error *answer_take(Answer *a, const Tensor *logits)
{
    uint32_t id;
    bool ends = false;
    TRY(choose(a, logits, &id));
    TRY(is_end(a, id, &ends));
    if (ends) {
        answer_end(a, ANSWER_EOD);
        return NULL;
    }
    TRY(decode_stream_add(a->stream, id, &a->piece));
    remember(a, &id, 1);
    if (give_until_stop(a))
        answer_end(a, ANSWER_TEXT);
    else if (--a->n_left <= 0)
        answer_end(a, ANSWER_LIMIT);
    return NULL;
}

Error *answer_close(Answer *a)
{
    static const char *const last_line[] = {
        [ANSWER_EOD] = "\n<reached end of document token>\n",
        [ANSWER_LIMIT] = "\n max tokens reached\n",
        [ANSWER_STOPPED] = "closing app...\n",
        [ANSWER_TEXT] = "\n<reached stop text>\n",
    };
    if (a->end != ANSWER_TEXT) TRY(decode_stream_finish(a->stream, &a->piece));
    give_piece(a);
    if (!a->to) return NULL;
    fputs(last_line[a->end], a->to);
    if (fflush(a->to) || ferror(a->to)) return error_new("the answer cannot be written");
    return NULL;
}
