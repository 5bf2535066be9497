/* blanks.c - finds out whether only blanks are rewritten, and rewrites them. */
#include "tokenizer/bpe/blanks.h"
#include <string.h>

#define BLANK "\xE2\x96\x81"

static bool is(JsonNode at, const char *key, const char *text)
{
    const char *is = json_string_value(json_member(at, key).value);
    return is && !strcmp(is, text);
}

/* Takes a normalizer that prepends U+2581 or replaces blanks by it; false: another one. */
static bool take_normalizer(JsonNode at, Blanks *out, bool *replaces)
{
    bool replace = is(at, "type", "Replace") && is(at, "content", BLANK) &&
                   is(json_member(at, "pattern"), "String", " ");
    bool prepend = is(at, "type", "Prepend") && is(at, "prepend", BLANK) && !out->prepends;
    *replaces |= replace;
    out->prepends |= prepend;
    return replace || prepend;
}

static bool take_normalizers(JsonNode at, Blanks *out, bool *replaces)
{
    if (json_node_is_null(at)) return true;
    if (!is(at, "type", "Sequence")) return take_normalizer(at, out, replaces);
    JsonNode list = json_member(at, "normalizers");
    bool all = true;
    for (size_t i = 0; i < json_array_size(list.value) && all; i++)
        all = take_normalizer(json_item(list, i), out, replaces);
    return all;
}

Error *blanks_load(JsonNode root, Blanks *out)
{
    *out = (Blanks){ 0 };
    JsonNode pre = json_member(root, "pre_tokenizer");
    bool replaces = false;
    if (!take_normalizers(json_member(root, "normalizer"), out, &replaces)) return NULL;
    if (!json_node_is_null(pre)) {
        if (!is(pre, "type", "Metaspace")) return NULL;
        TRY(metaspace_load(pre, &out->metaspace));
        if (out->metaspace.replacement != 0x2581) return NULL;
        out->has_metaspace = replaces = true;
    }
    out->apply = replaces;
    return NULL;
}

/* The first U+2581, or NULL; its middle byte is rare in other characters. */
static const char *find_blank(Str s)
{
    for (size_t at = 1; at + 1 < s.len; at++) {
        const char *middle = memchr(s.ptr + at, 0x96, s.len - 1 - at);
        if (!middle) return NULL;
        if (!memcmp(middle - 1, BLANK, 3)) return middle - 1;
        at = (size_t)(middle - s.ptr);
    }
    return NULL;
}

void blanks_add(Str s, Text *out)
{
    for (const char *found; (found = find_blank(s));) {
        text_add(out, s.ptr, (size_t)(found - s.ptr));
        text_putc(out, ' ');
        s = (Str){ found + 3, s.len - (size_t)(found + 3 - s.ptr) };
    }
    text_add(out, s.ptr, s.len);
}

void blanks_write(const Blanks *b, Str text, bool at_start, Text *out)
{
    size_t from = out->len;
    if (b->prepends) text_putc(out, ' ');
    bool first = b->has_metaspace && (b->metaspace.scheme == PREPEND_ALWAYS ||
                                      (b->metaspace.scheme == PREPEND_FIRST && at_start));
    bool has_one = out->len > from || text.ptr[0] == ' ' || str_starts(text, BLANK);
    if (first && !has_one) text_putc(out, ' ');
    blanks_add(text, out);
}

Str blanks_in_name(Arena *a, Str name)
{
    if (memchr(name.ptr, ' ', name.len)) return (Str){ NULL, 0 };
    char *to = arena_string_n(a, name.ptr, name.len);
    size_t n = 0;
    for (size_t i = 0; i < name.len; i++) {
        bool blank = name.len - i >= 3 && !memcmp(name.ptr + i, BLANK, 3);
        to[n++] = blank ? ' ' : name.ptr[i];
        if (blank) i += 2;
    }
    return (Str){ to, n };
}
