/* trace.c - shows what each stage of a tokenizer.json makes of a text. */
#include "base/utf8.h"
#include "tokenizer/hf/hf_tokenizer.h"
#include <string.h>

typedef struct Items {
    TraceItem *item;
    int64_t n, cap;
} Items;

typedef struct Trace {
    Arena *arena;
    const HfTokenizer *tokenizer;
    TraceShow *show;
    void *arg;
    Items items; /* what the last stage made */
    NormalizerRoom normalizing;
    PreTokenizerRoom cutting;
    Buffer pieces;
} Trace;

static void add(Trace *t, Items *to, Str text, bool is_token)
{
    to->item = arena_grow(t->arena, to->item, to->n, &to->cap, sizeof *to->item);
    text.ptr = arena_string_n(t->arena, text.ptr, text.len);
    to->item[to->n++] = (TraceItem){ text, is_token };
}

/* What a stage makes of an item that is no token. */
typedef Error *Stage(Trace *t, const void *stage, Str text, bool at_start, Items *to);

static Error *run_stage(Trace *t, const char *name, Stage *run, const void *stage)
{
    Items made = { 0 };
    for (int64_t i = 0; i < t->items.n; i++) {
        TraceItem item = t->items.item[i];
        if (item.is_token)
            add(t, &made, item.text, true);
        else if (item.text.len)
            TRY(run(t, stage, item.text, i == 0, &made));
    }
    t->items = made;
    t->show(t->arg, name, made.item, made.n);
    return NULL;
}

static Error *find_tokens(Trace *t, const void *normalized, Str text, bool at_start, Items *to)
{
    (void)at_start;
    Piece *piece;
    int64_t n = added_tokens_split(t->tokenizer->added, *(const bool *)normalized, text, &t->pieces,
                                   &piece);
    for (int64_t i = 0; i < n; i++) {
        bool is_token = piece[i].id != NO_TOKEN;
        Str name = is_token ? added_tokens_name(t->tokenizer->added, piece[i].id) : piece[i].text;
        add(t, to, name, is_token);
    }
    return NULL;
}

static Error *normalize(Trace *t, const void *stage, Str text, bool at_start, Items *to)
{
    (void)at_start;
    const NormalizerStep *step = stage;
    const Normalizer alone = { .step = &step, .n_steps = 1 };
    TRY(normalizer_run(&alone, text, &t->normalizing, &text));
    add(t, to, text, false);
    return NULL;
}

static Error *cut(Trace *t, const void *stage, Str text, bool at_start, Items *to)
{
    const PreTokenizerStep *step = stage;
    Words words = { 0 };
    Error *e = step->run(step, text, at_start, &t->cutting, &words);
    for (int64_t i = 0; i < words.n && !e; i++) add(t, to, words_at(&words, i), false);
    words_free(&words);
    return e;
}

static Error *cut_in_place(Trace *t, const void *stage, Str text, bool at_start, Items *to)
{
    (void)at_start;
    const PreTokenizer *p = stage;
    Str s = pretokenizer_place(p, text, &t->cutting.text);
    uint32_t len = (uint32_t)s.len, *end = buffer_grow(&t->cutting.ends, SPLIT_ROOM * sizeof *end);
    for (uint32_t from = 0; from < len;) {
        uint32_t until = len - from < SPLIT_BYTES ? len : from + SPLIT_BYTES;
        int64_t n = 1;
        end[0] = len;
        if (p->split) n = p->split(s.ptr, len, from, until, end);
        for (int64_t i = 0; i < n; from = end[i++])
            add(t, to, (Str){ s.ptr + from, end[i] - from }, false);
    }
    return NULL;
}

static void show_ids(Trace *t, const char *name, const Ids *ids)
{
    t->items = (Items){ 0 };
    for (int64_t i = 0; i < ids->n; i++)
        add(t, &t->items, added_tokens_name(t->tokenizer->added, ids->id[i]), true);
    t->show(t->arg, name, t->items.item, t->items.n);
}

static Error *show_encoded(Trace *t, Str text, bool add_special_tokens)
{
    const Tokenizer *self = &t->tokenizer->base;
    Encoder *encoder = self->encoder_new(self);
    Ids ids = { 0 };
    Error *e = self->encode(encoder, text, add_special_tokens, &ids);
    if (!e)
        show_ids(t, add_special_tokens ? "special tokens, length" : t->tokenizer->model->kind,
                 &ids);
    ids_free(&ids);
    self->encoder_free(encoder);
    return e;
}

static Error *run_all(Trace *t, Str text)
{
    static const bool normalized[] = { false, true };
    const HfTokenizer *hf = t->tokenizer;
    const PreTokenizer *p = &hf->pretokenizer;
    size_t valid = utf8_valid_length(text);
    if (valid < text.len) return error_new("byte %zu of the text is no UTF-8", valid);
    add(t, &t->items, text, false);
    TRY(run_stage(t, "added tokens", find_tokens, &normalized[0]));
    for (int64_t i = 0; i < hf->normalizer.n_steps; i++)
        TRY(run_stage(t, hf->normalizer.step[i]->name, normalize, hf->normalizer.step[i]));
    TRY(run_stage(t, "added tokens, normalized", find_tokens, &normalized[1]));
    if (p->splitter_name) TRY(run_stage(t, p->splitter_name, cut_in_place, p));
    for (int64_t i = 0; i < p->n_steps; i++) TRY(run_stage(t, p->step[i]->name, cut, p->step[i]));
    TRY(show_encoded(t, text, false));
    return show_encoded(t, text, true);
}

Error *hf_tokenizer_trace(const Tokenizer *self, Str text, TraceShow *show, void *arg)
{
    Trace t = {
        .arena = arena_new(), .tokenizer = (const HfTokenizer *)self, .show = show, .arg = arg
    };
    Error *e = run_all(&t, text);
    normalizer_room_free(&t.normalizing);
    pretokenizer_room_free(&t.cutting);
    buffer_free(&t.pieces);
    arena_free(t.arena);
    return e;
}
