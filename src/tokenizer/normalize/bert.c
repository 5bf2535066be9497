/* bert.c - BERT's cleaning: control characters, Chinese characters, accents, case. */
#include "base/utf8.h"
#include "tokenizer/normalize/steps.h"
#include "tokenizer/text/normal_form.h"
#include "tokenizer/text/unicode.h"
#include <string.h>

/* Characters of the categories C*, of an old version of Unicode, but for tab and line ends. */
static bool is_control(uint32_t c)
{
    const UnicodeClass *class = unicode_class;
    while (strcmp(class->name, "BertNormalizer_clean:removed") != 0) class ++;
    for (int64_t i = 0; i < class->n; i++) {
        if (c <= class->range[i].last) return c >= class->range[i].first;
    }
    return false;
}

static int clean(uint32_t c, char *out)
{
    if (c >= ' ' && c < 0x7F) return -1;
    *out = ' ';
    if (is_control(c)) return 0;
    return unicode_flags(c) & UNICODE_SPACE ? 1 : -1;
}

/* The blocks that the library counts as Chinese: no kana, no Hangul. */
static bool is_chinese(uint32_t c)
{
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
           (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B81F) ||
           (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
           (c >= 0x2F800 && c <= 0x2FA1F);
}

static int set_apart(uint32_t c, char *out)
{
    if (!is_chinese(c)) return -1;
    out[0] = ' ';
    int len = 1 + utf8_encode(c, out + 1);
    out[len] = ' ';
    return len + 1;
}

static int strip_accent(uint32_t c, char *out)
{
    (void)out;
    return unicode_flags(c) & UNICODE_NONSPACING ? 0 : -1;
}

static Error *decompose(const NormalizerStep *self, Str text, NormalizerRoom *room, Text *out,
                        bool *changed)
{
    (void)self;
    *changed = normal_form_add(FORM_NFD, text, &room->codes, room->sources, out);
    return NULL;
}

Error *normalizer_load_bert(JsonNode at, void *loading)
{
    static const char *const known[] = { "type",          "clean_text", "handle_chinese_chars",
                                         "strip_accents", "lowercase",  NULL };
    static const CharRewrite
        cleaning = { { "BertNormalizer: clean_text", normalize_chars }, clean, false },
        chinese = { { "BertNormalizer: handle_chinese_chars", normalize_chars }, set_apart, true },
        accents = { { "BertNormalizer: strip_accents", normalize_chars }, strip_accent, true };
    static const NormalizerStep nfd = { "BertNormalizer: NFD", decompose };
    bool cleans, handles_chinese, lowercases, strips;
    TRY(json_node_only(at, known));
    TRY(json_get_bool(at, "clean_text", REQUIRED, &cleans));
    TRY(json_get_bool(at, "handle_chinese_chars", REQUIRED, &handles_chinese));
    TRY(json_get_bool(at, "lowercase", REQUIRED, &lowercases));
    strips = lowercases;
    if (!json_node_is_null(json_member(at, "strip_accents")))
        TRY(json_get_bool(at, "strip_accents", REQUIRED, &strips));
    if (cleans) normalizer_append(loading, &cleaning.base);
    if (handles_chinese) normalizer_append(loading, &chinese.base);
    if (strips) normalizer_append(loading, &nfd);
    if (strips) normalizer_append(loading, &accents.base);
    if (lowercases) normalizer_append(loading, &lowercase_step.base);
    return NULL;
}
