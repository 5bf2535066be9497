/* precompiled.c - the normalizer Precompiled: SentencePiece's map of characters, applied
 * as the library does, to grapheme clusters of up to 5 bytes and else to single characters. */
#include "base/utf8.h"
#include "tokenizer/normalize/charsmap.h"
#include "tokenizer/normalize/steps.h"
#include <string.h>
#include <utf8proc.h>

typedef struct PrecompiledStep {
    NormalizerStep base;
    const Charsmap *map;
    bool keeps_visible; /* blanks and visible ASCII before ASCII stay as they are */
} PrecompiledStep;

enum { LONGEST_CLUSTER = 5 };

/* The end of the grapheme cluster that starts at `at` (UAX 29). */
static size_t cluster_end(Str text, size_t at)
{
    int len;
    utf8proc_int32_t state = 0, c = (utf8proc_int32_t)utf8_decode(text.ptr + at, &len);
    for (at += (size_t)len; at < text.len; at += (size_t)len) {
        utf8proc_int32_t next = (utf8proc_int32_t)utf8_decode(text.ptr + at, &len);
        if (c >= ' ' && c < 0x7F && next < 0x7F) break;
        if (utf8proc_grapheme_break_stateful(c, next, &state)) break;
        c = next;
    }
    return at;
}

static int32_t n_characters(Str s)
{
    int32_t n = 0;
    for (size_t i = 0; i < s.len; i++) n += ((uint8_t)s.ptr[i] & 0xC0) != 0x80;
    return n;
}

/* The changes so far, if somebody asks. */
typedef struct Changes {
    Buffer room;
    int64_t n;
    bool wanted;
} Changes;

/* As the library counts: characters that are too few are removed after the last one written, be it
 * of an earlier part; where there is none, they are not counted. */
static void note(Changes *c, Str part, Str by)
{
    if (!c->wanted) return;
    int32_t more = n_characters(by) - n_characters(part);
    SourceChange *change = buffer_grow(&c->room, ((size_t)c->n + by.len) * sizeof *change);
    for (size_t at = 0; at < by.len; at += (size_t)change[c->n++].bytes)
        change[c->n] = (SourceChange){ (int32_t)utf8_char_bytes((uint8_t)by.ptr[at]), 0 };
    for (int32_t i = 1; i <= more && i <= c->n; i++) change[c->n - i].change = 1;
    if (more < 0 && c->n) change[c->n - 1].change += more;
}

static bool replace(const Charsmap *map, Str part, Changes *changes, Text *out)
{
    Str by;
    bool found = charsmap_shortest(map, part, &by);
    if (!found) by = part;
    text_add(out, by.ptr, by.len);
    note(changes, part, by);
    return found;
}

/* Bytes that each are a cluster and stay as they are: blanks and visible ASCII. After the last may
 * come what belongs to its cluster. */
static size_t kept_bytes(Str text)
{
    const uint64_t ones = UINT64_MAX / 255, top = ones << 7;
    size_t i = 0;
    for (; i + 8 <= text.len; i += 8) {
        uint64_t x;
        memcpy(&x, text.ptr + i, sizeof x);
        uint64_t others = (x | (x - ones * ' ') | (x + ones)) & top; /* exact up to the first */
        if (!others) continue;
        i += (size_t)__builtin_ctzll(others) / 8;
        break;
    }
    while (i < text.len && text.ptr[i] >= ' ' && text.ptr[i] < 0x7F) i++;
    return i && i < text.len && (uint8_t)text.ptr[i] >= 0x7F ? i - 1 : i;
}

static Error *run(const NormalizerStep *self, Str text, NormalizerRoom *room, Text *out,
                  bool *changed)
{
    Changes changes = { .wanted = room->sources };
    const PrecompiledStep *step = (const PrecompiledStep *)self;
    const Charsmap *map = step->map;
    for (size_t at = 0, end; at < text.len; at = end) {
        size_t kept = step->keeps_visible && !changes.wanted
                          ? kept_bytes((Str){ text.ptr + at, text.len - at })
                          : 0;
        end = at + kept;
        if (kept == text.len) break; /* nothing changes */
        text_add(out, text.ptr + at, kept);
        if (kept) continue;
        end = cluster_end(text, at);
        Str by, cluster = { text.ptr + at, end - at };
        if (cluster.len <= LONGEST_CLUSTER && charsmap_shortest(map, cluster, &by)) {
            text_add(out, by.ptr, by.len);
            note(&changes, cluster, by);
            *changed = true;
            continue;
        }
        for (int len; at < end; at += (size_t)len) {
            utf8_decode(text.ptr + at, &len);
            *changed |= replace(map, (Str){ text.ptr + at, (size_t)len }, &changes, out);
        }
    }
    sources_change(room->sources, text, 0, changes.room.ptr, changes.n);
    buffer_free(&changes.room);
    return NULL;
}

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Base64 with padding (RFC 4648); false when it is none. */
static bool decode_base64(Str text, Text *out)
{
    if (text.len % 4) return false;
    for (size_t at = 0; at < text.len; at += 4) {
        const char *p = text.ptr + at;
        int n = at + 4 < text.len || p[3] != '=' ? 4 : p[2] != '=' ? 3 : 2;
        uint32_t bits = 0;
        for (int k = 0; k < 4; k++) {
            int digit = k < n ? digit_of(p[k]) : 0;
            if (digit < 0) return false;
            bits = bits << 6 | (uint32_t)digit;
        }
        char bytes[] = { (char)(bits >> 16), (char)(bits >> 8), (char)bits };
        text_add(out, bytes, (size_t)n - 1);
    }
    return true;
}

Error *normalizer_load_precompiled(JsonNode at, void *loading)
{
    static const char *const known[] = { "type", "precompiled_charsmap", NULL };
    NormalizerLoading *l = loading;
    PrecompiledStep *s = NEW(l->arena, PrecompiledStep);
    s->base = (NormalizerStep){ "Precompiled", run };
    Str encoded;
    TRY(json_node_only(at, known));
    TRY(json_get_string(at, "precompiled_charsmap", &encoded));
    Text bytes = { 0 };
    text_puts(&bytes, "");
    JsonNode member = json_member(at, "precompiled_charsmap");
    Error *e = decode_base64(encoded, &bytes)
                   ? error_wrap(charsmap_read(l->arena, (Str){ bytes.ptr, bytes.len }, &s->map),
                                "%s", member.path)
                   : json_node_error(member, "must be base64");
    text_free(&bytes);
    s->keeps_visible = true;
    for (int c = ' '; c < 0x7F && !e; c++)
        s->keeps_visible &= charsmap_is_plain(s->map, (uint8_t)c);
    if (!e) normalizer_append(l, &s->base);
    return e;
}
