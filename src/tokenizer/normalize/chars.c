/* chars.c - the normalizers that look at one character at a time: Lowercase,
 * StripAccents, Nmt. */
#include "base/utf8.h"
#include "tokenizer/normalize/steps.h"
#include "tokenizer/text/unicode.h"

static size_t ascii_length(Str text)
{
    size_t n = 0;
    while (n < text.len && (signed char)text.ptr[n] >= 0) n++;
    return n;
}

Error *normalize_chars(const NormalizerStep *self, Str text, NormalizerRoom *room, Text *out,
                       bool *changed)
{
    const CharRewrite *step = (const CharRewrite *)self;
    size_t copied = 0, removed = 0; /* both end before `at`; removed starts with the text */
    char bytes[REWRITE_ROOM];
    int len;
    for (size_t at = 0; at < text.len; at += (size_t)len) {
        if (step->keeps_ascii) at += ascii_length((Str){ text.ptr + at, text.len - at });
        if (at == text.len) break;
        int n = step->rewrite(utf8_decode(text.ptr + at, &len), bytes);
        if (n < 0) continue;
        text_add(out, text.ptr + copied, at - copied);
        text_add(out, bytes, (size_t)n);
        sources_copy(room->sources, (int64_t)copied, at - copied);
        sources_repeat(room->sources, (uint32_t)at, (size_t)n);
        copied = at + (size_t)len;
        if (!n && removed == at) removed = copied;
        *changed = true;
    }
    room->skipped |= removed > 0;
    text_add(out, text.ptr + copied, text.len - copied);
    sources_copy(room->sources, (int64_t)copied, text.len - copied);
    return NULL;
}

static const char *const type_alone[] = { "type", NULL };

static Error *load(JsonNode at, NormalizerLoading *l, const CharRewrite *step)
{
    TRY(json_node_only(at, type_alone));
    normalizer_append(l, &step->base);
    return NULL;
}

static int lowercase(uint32_t c, char *out)
{
    const uint32_t *result;
    int len = 0;
    if (c < 0x80) {
        *out = (char)(c + 'a' - 'A');
        return c >= 'A' && c <= 'Z' ? 1 : -1;
    }
    int n = unicode_map(&unicode_lowercase, c, &result);
    for (int i = 0; i < n; i++) len += utf8_encode(result[i], out + len);
    return n < 0 ? n : len;
}

const CharRewrite lowercase_step = { { "Lowercase", normalize_chars }, lowercase, false };

Error *normalizer_load_lowercase(JsonNode at, void *loading)
{
    return load(at, loading, &lowercase_step);
}

static int strip_accent(uint32_t c, char *out)
{
    (void)out;
    return unicode_flags(c) & UNICODE_ACCENT ? 0 : -1;
}

Error *normalizer_load_strip_accents(JsonNode at, void *loading)
{
    static const CharRewrite step = { { "StripAccents", normalize_chars }, strip_accent, true };
    return load(at, loading, &step);
}

/* The rules of the NMT normalization of SentencePiece, as the library has them. */
static int nmt(uint32_t c, char *out)
{
    bool is_removed = (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) ||
                      c == 0x7F || c == 0x8F || c == 0x9F;
    bool is_blank = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                    (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                    c == 0xFEFF || c == 0xFFFD;
    *out = ' ';
    return is_blank ? 1 : is_removed ? 0 : -1;
}

Error *normalizer_load_nmt(JsonNode at, void *loading)
{
    static const CharRewrite step = { { "Nmt", normalize_chars }, nmt, false };
    return load(at, loading, &step);
}
