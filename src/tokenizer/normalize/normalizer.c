/* normalizer.c - the table of normalizers, the running of their steps, and the steps that are a few
 * lines. */
#include "tokenizer/normalize/normalizer.h"
#include "base/utf8.h"
#include "tokenizer/normalize/steps.h"
#include "tokenizer/text/byte_alphabet.h"
#include "tokenizer/text/normal_form.h"
#include "tokenizer/text/unicode.h"
#include <string.h>

static const char *const type_alone[] = { "type", NULL };

void normalizer_append(NormalizerLoading *l, const NormalizerStep *step)
{
    Normalizer *n = l->to;
    n->step = arena_grow(l->arena, n->step, n->n_steps, &n->cap, sizeof *n->step);
    n->step[n->n_steps++] = step;
}

typedef struct FormStep {
    NormalizerStep base;
    NormalForm form;
} FormStep;

static Error *run_form(const NormalizerStep *self, Str text, NormalizerRoom *room, Text *out,
                       bool *changed)
{
    *changed =
        normal_form_add(((const FormStep *)self)->form, text, &room->codes, room->sources, out);
    return NULL;
}

static Error *load_form(JsonNode at, void *loading)
{
    static const FormStep forms[] = { { { "NFC", run_form }, FORM_NFC },
                                      { { "NFD", run_form }, FORM_NFD },
                                      { { "NFKC", run_form }, FORM_NFKC },
                                      { { "NFKD", run_form }, FORM_NFKD } };
    TRY(json_node_only(at, type_alone));
    const char *type = json_string_value(json_member(at, "type").value);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (!strcmp(type, forms[i].base.name)) normalizer_append(loading, &forms[i].base);
    }
    return NULL;
}

typedef struct PrependStep {
    NormalizerStep base;
    Str text;
} PrependStep;

static Error *run_prepend(const NormalizerStep *self, Str text, NormalizerRoom *room, Text *out,
                          bool *changed)
{
    Str prefix = ((const PrependStep *)self)->text;
    sources_repeat(room->sources, 0, prefix.len);
    sources_copy(room->sources, 0, text.len);
    text_add(out, prefix.ptr, prefix.len);
    text_add(out, text.ptr, text.len);
    *changed = true;
    return NULL;
}

static Error *load_prepend(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "prepend", NULL };
    NormalizerLoading *l = loading;
    PrependStep *s = NEW(l->arena, PrependStep);
    s->base = (NormalizerStep){ "Prepend", run_prepend };
    TRY(json_node_only(at, known));
    TRY(json_get_string(at, "prepend", &s->text));
    s->text.ptr = arena_string_n(l->arena, s->text.ptr, s->text.len);
    normalizer_append(l, &s->base);
    return NULL;
}

typedef struct StripStep {
    NormalizerStep base;
    bool left, right;
} StripStep;

/* The number of bytes of white space at the start. */
static size_t leading_space(Str text)
{
    size_t at = 0;
    for (int len; at < text.len; at += (size_t)len) {
        if (!(unicode_flags(utf8_decode(text.ptr + at, &len)) & UNICODE_SPACE)) break;
    }
    return at;
}

static size_t trailing_space(Str text)
{
    size_t end = text.len;
    while (end) {
        size_t start = end - 1;
        int len;
        while ((text.ptr[start] & 0xC0) == 0x80) start--;
        if (!(unicode_flags(utf8_decode(text.ptr + start, &len)) & UNICODE_SPACE)) break;
        end = start;
    }
    return text.len - end;
}

static Error *run_strip(const NormalizerStep *self, Str text, NormalizerRoom *room, Text *out,
                        bool *changed)
{
    const StripStep *s = (const StripStep *)self;
    size_t left = s->left ? leading_space(text) : 0;
    size_t right = s->right && left < text.len ? trailing_space(text) : 0;
    room->skipped |= left > 0;
    text_add(out, text.ptr + left, text.len - left - right);
    sources_copy(room->sources, (int64_t)left, text.len - left - right);
    *changed = left || right;
    return NULL;
}

static Error *load_strip(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "strip_left", "strip_right", NULL };
    NormalizerLoading *l = loading;
    StripStep *s = NEW(l->arena, StripStep);
    s->base = (NormalizerStep){ "Strip", run_strip };
    TRY(json_node_only(at, known));
    TRY(json_get_bool(at, "strip_left", REQUIRED, &s->left));
    TRY(json_get_bool(at, "strip_right", REQUIRED, &s->right));
    normalizer_append(l, &s->base);
    return NULL;
}

static Error *run_byte_level(const NormalizerStep *self, Str text, NormalizerRoom *room, Text *out,
                             bool *changed)
{
    (void)self;
    bytes_to_name(text, out);
    byte_name_sources(text, room->sources);
    *changed = true;
    return NULL;
}

static const NormalizerStep byte_level_step = { "ByteLevel", run_byte_level };

static Error *load_byte_level(JsonNode at, void *loading)
{
    TRY(json_node_only(at, type_alone));
    normalizer_append(loading, &byte_level_step);
    return NULL;
}

static Error *load_sequence(JsonNode at, void *loading);

static const JsonStage normalizers[] = {
    { "BertNormalizer", normalizer_load_bert },
    { "ByteLevel", load_byte_level },
    { "Lowercase", normalizer_load_lowercase },
    { "NFC", load_form },
    { "NFD", load_form },
    { "NFKC", load_form },
    { "NFKD", load_form },
    { "Nmt", normalizer_load_nmt },
    { "Precompiled", normalizer_load_precompiled },
    { "Prepend", load_prepend },
    { "Replace", normalizer_load_replace },
    { "Sequence", load_sequence },
    { "Strip", load_strip },
    { "StripAccents", normalizer_load_strip_accents },
    { 0 },
};

static Error *load_sequence(JsonNode at, void *loading)
{
    return json_load_stages(at, "normalizers", normalizers, loading);
}

Error *normalizer_load(JsonNode at, Arena *a, Normalizer *out)
{
    *out = (Normalizer){ 0 };
    if (json_node_is_null(at)) return NULL;
    NormalizerLoading l = { a, out };
    TRY(json_load_stage(at, normalizers, NULL, &l));
    out->is_spelled = out->n_steps && out->step[out->n_steps - 1] == &byte_level_step;
    return NULL;
}

Error *normalizer_run(const Normalizer *n, Str text, NormalizerRoom *room, Str *out)
{
    int to = 0;
    room->skipped = false;
    for (int64_t i = 0; i < n->n_steps && text.len; i++) {
        bool changed = false;
        Text *result = &room->text[to];
        text_clear(result);
        TRY(n->step[i]->run(n->step[i], text, room, result, &changed));
        if (!changed) continue;
        text = (Str){ result->ptr ? result->ptr : "", result->len };
        to = !to;
    }
    *out = text;
    return NULL;
}

void normalizer_room_free(NormalizerRoom *room)
{
    text_free(&room->text[0]);
    text_free(&room->text[1]);
    buffer_free(&room->codes);
    regex_room_free(&room->regex);
}
