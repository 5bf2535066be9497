/* reference_hf.c - BPE over bytes and WordPiece of a tokenizer.json, the plain way. */
#include "base/map.h"
#include "test.h"
#include "tokenizer/hf/hf_tokenizer.h"
#include "tokenizer/reference.h"
#include "tokenizer/text/byte_alphabet.h"
#include <jansson.h>
#include <string.h>

typedef struct Added {
    Str content;
    uint32_t id;
    bool normalized;
} Added;

typedef struct HfReference {
    Reference base;
    Map *vocab; /* of id + 1 as a pointer */
    Added *added;
    int64_t n_added;
    /* BPE */
    const Regex *pattern;
    Map *rank; /* of a pair of ids: 1 + its rank << 32 | what it makes */
    uint32_t byte_id[256];
    /* WordPiece */
    HfTokenizer *stages; /* its normalizer and its words */
    uint32_t unk_id;
    int64_t max_chars;
    Text name;
    /* scratch */
    RegexRoom regex;
    NormalizerRoom normalizing;
    PreTokenizerRoom cutting;
    Buffer symbols;
} HfReference;

static void *number(uint64_t n)
{
    return (void *)(uintptr_t)(n + 1);
}

static bool find(const Map *m, Str key, uint64_t *out)
{
    uintptr_t value = (uintptr_t)map_get(m, key);
    *out = value - 1;
    return value != 0;
}

static void release(void *tree)
{
    json_decref(tree);
}

static json_t *load(HfReference *r, Arena *a, const char *file)
{
    json_t *root = json_load_file(file, JSON_ALLOW_NUL, NULL), *id, *vocab;
    assert_non_null(root);
    arena_on_free(a, release, root);
    const char *name;
    r->vocab = map_new(a);
    vocab = json_object_get(json_object_get(root, "model"), "vocab");
    json_object_foreach(vocab, name, id)
        map_set(r->vocab, str_of(name), number((uint64_t)json_integer_value(id)));
    json_t *list = json_object_get(root, "added_tokens"), *item;
    size_t i;
    r->added = NEW_N(a, Added, json_array_size(list));
    json_array_foreach(list, i, item)
    {
        static const char *const plain[] = { "single_word", "lstrip", "rstrip" };
        for (int k = 0; k < 3; k++) assert_false(json_is_true(json_object_get(item, plain[k])));
        const json_t *content = json_object_get(item, "content");
        r->added[r->n_added++] = (Added){
            .content = { json_string_value(content), json_string_length(content) },
            .id = (uint32_t)json_integer_value(json_object_get(item, "id")),
            .normalized = json_is_true(json_object_get(item, "normalized")),
        };
    }
    return root;
}

/* The longest added token at the start of a text. */
static const Added *added_at(const HfReference *r, Str text, bool normalized)
{
    const Added *found = NULL;
    for (int64_t i = 0; i < r->n_added; i++) {
        const Added *t = &r->added[i];
        if (t->normalized == normalized && t->content.len <= text.len &&
            !memcmp(t->content.ptr, text.ptr, t->content.len) &&
            (!found || found->content.len < t->content.len))
            found = t;
    }
    return found;
}

/* Gives the stretches between the added tokens to `stretch`. */
typedef void Stretch(HfReference *r, Str text, Ids *out);

static void cut(HfReference *r, Str text, bool normalized, Stretch *stretch, Ids *out)
{
    size_t done = 0;
    for (size_t at = 0; at < text.len;) {
        const Added *t = added_at(r, (Str){ text.ptr + at, text.len - at }, normalized);
        if (!t) {
            at++;
            continue;
        }
        if (done < at) stretch(r, (Str){ text.ptr + done, at - done }, out);
        ids_add(out, t->id);
        done = at += t->content.len;
    }
    if (done < text.len) stretch(r, (Str){ text.ptr + done, text.len - done }, out);
}

static bool find_pair(const HfReference *r, const uint32_t *id, uint64_t *out)
{
    return find(r->rank, (Str){ (const char *)id, 2 * sizeof *id }, out);
}

/* Merges the leftmost pair of the lowest rank, until there is none. */
static void merge_word(HfReference *r, Str word, Ids *out)
{
    uint32_t *id = buffer_grow(&r->symbols, word.len * (sizeof *id + sizeof(uint64_t)) + 8);
    uint64_t *pair = (uint64_t *)(id + word.len + word.len % 2), none = UINT64_MAX;
    int64_t n = (int64_t)word.len;
    for (int64_t i = 0; i < n; i++) id[i] = r->byte_id[(uint8_t)word.ptr[i]];
    for (int64_t i = 0; i + 1 < n; i++)
        if (!find_pair(r, id + i, &pair[i])) pair[i] = none;
    for (;;) {
        int64_t best = -1;
        for (int64_t i = 0; i + 1 < n; i++) {
            if (pair[i] != none && (best < 0 || pair[i] >> 32 < pair[best] >> 32)) best = i;
        }
        if (best < 0) break;
        id[best] = (uint32_t)pair[best];
        memmove(id + best + 1, id + best + 2, (size_t)(n - best - 2) * sizeof *id);
        memmove(pair + best, pair + best + 1, (size_t)(n - best - 2) * sizeof *pair);
        n--;
        for (int64_t i = best ? best - 1 : 0; i <= best && i + 1 < n; i++)
            if (!find_pair(r, id + i, &pair[i])) pair[i] = none;
    }
    for (int64_t i = 0; i < n; i++) ids_add(out, id[i]);
}

static void encode_words(HfReference *r, Str text, Ids *out)
{
    RegexSearch search = { 0 };
    RegexMatch m;
    size_t done = 0;
    for (bool found;; done = m.to) {
        assert_no_error(regex_next(r->pattern, &r->regex, text, &search, &m, &found));
        if (!found) break;
        assert_true(m.from == done); /* these patterns leave nothing out */
        merge_word(r, (Str){ text.ptr + m.from, m.to - m.from }, out);
    }
    assert_true(done == text.len);
}

static void encode_normalized(HfReference *r, Str text, Ids *out)
{
    cut(r, text, true, encode_words, out);
}

static void encode_bpe(Reference *self, Str text, Ids *out)
{
    cut((HfReference *)self, text, false, encode_normalized, out);
}

static void load_merges(HfReference *r, Arena *a, const json_t *merges)
{
    r->rank = map_new(a);
    for (size_t rank = 0; rank < json_array_size(merges); rank++) {
        const json_t *merge = json_array_get(merges, rank);
        const char *text = json_string_value(merge);
        Str part[2];
        if (text) {
            part[0] = (Str){ text, strcspn(text, " ") };
            part[1] = str_of(text + part[0].len + 1);
        } else {
            for (size_t k = 0; k < 2; k++)
                part[k] = str_of(json_string_value(json_array_get(merge, k)));
        }
        Text both = { 0 };
        uint32_t id[2];
        uint64_t value;
        for (int k = 0; k < 2; k++) {
            text_add(&both, part[k].ptr, part[k].len);
            assert_true(find(r->vocab, part[k], &value));
            id[k] = (uint32_t)value;
        }
        assert_true(find(r->vocab, (Str){ both.ptr, both.len }, &value));
        map_set(r->rank, (Str){ (const char *)id, sizeof id }, number(rank << 32 | value));
        text_free(&both);
    }
}

static void forget(void *reference)
{
    HfReference *r = reference;
    regex_room_free(&r->regex);
    normalizer_room_free(&r->normalizing);
    pretokenizer_room_free(&r->cutting);
    buffer_free(&r->symbols);
    text_free(&r->name);
    if (r->stages) hf_tokenizer_free(r->stages);
}

Reference *reference_byte_bpe(Arena *a, const char *tokenizer_json, const char *pattern)
{
    HfReference *r = NEW(a, HfReference);
    r->base.encode = encode_bpe;
    const json_t *model = json_object_get(load(r, a, tokenizer_json), "model");
    assert_false(json_is_true(json_object_get(model, "ignore_merges")));
    load_merges(r, a, json_object_get(model, "merges"));
    assert_no_error(regex_new(a, str_of(pattern), REGEX_ONIGURUMA, &r->pattern));
    for (int byte = 0; byte < 256; byte++) {
        Text name = { 0 };
        char c = (char)byte;
        uint64_t id;
        bytes_to_name((Str){ &c, 1 }, &name);
        assert_true(find(r->vocab, (Str){ name.ptr, name.len }, &id));
        r->byte_id[byte] = (uint32_t)id;
        text_free(&name);
    }
    arena_on_free(a, forget, r);
    return &r->base;
}

static int64_t n_characters(Str s)
{
    int64_t n = 0;
    for (size_t i = 0; i < s.len; i++) n += ((uint8_t)s.ptr[i] & 0xC0) != 0x80;
    return n;
}

/* The longest piece that the rest of a word starts with, or 0. */
static size_t longest_piece(HfReference *r, Str rest, bool at_start, uint64_t *id)
{
    for (size_t len = rest.len; len > 0; len--) {
        text_clear(&r->name);
        text_puts(&r->name, at_start ? "" : "##");
        text_add(&r->name, rest.ptr, len);
        if (find(r->vocab, (Str){ r->name.ptr, r->name.len }, id)) return len;
    }
    return 0;
}

static void piece_word(HfReference *r, Str word, Ids *out)
{
    int64_t before = out->n;
    bool known = n_characters(word) <= r->max_chars;
    for (size_t at = 0; known && at < word.len;) {
        uint64_t id;
        size_t len = longest_piece(r, (Str){ word.ptr + at, word.len - at }, at == 0, &id);
        known = len > 0;
        at += len;
        if (known) ids_add(out, (uint32_t)id);
    }
    if (known) return;
    out->n = before;
    ids_add(out, r->unk_id);
}

static void piece_words(HfReference *r, Str text, Ids *out)
{
    Str normal;
    const Words *words;
    assert_no_error(normalizer_run(&r->stages->normalizer, text, &r->normalizing, &normal));
    if (!normal.len) return;
    assert_no_error(pretokenizer_run(&r->stages->pretokenizer, normal, false, &r->cutting, &words));
    for (int64_t i = 0; i < words->n; i++) piece_word(r, words_at(words, i), out);
}

static void encode_pieces(Reference *self, Str text, Ids *out)
{
    cut((HfReference *)self, text, false, piece_words, out);
}

Reference *reference_word_piece(Arena *a, const char *tokenizer_json)
{
    HfReference *r = NEW(a, HfReference);
    r->base.encode = encode_pieces;
    const json_t *model = json_object_get(load(r, a, tokenizer_json), "model");
    const char *prefix = json_string_value(json_object_get(model, "continuing_subword_prefix"));
    assert_string_equal(prefix, "##");
    uint64_t unk;
    assert_true(
        find(r->vocab, str_of(json_string_value(json_object_get(model, "unk_token"))), &unk));
    r->unk_id = (uint32_t)unk;
    r->max_chars = json_integer_value(json_object_get(model, "max_input_chars_per_word"));
    assert_no_error(hf_tokenizer_read(tokenizer_json, &r->stages));
    arena_on_free(a, forget, r);
    return &r->base;
}

typedef struct StagesReference {
    Reference base;
    const Tokenizer *tokenizer;
    Ids offsets;
} StagesReference;

static void encode_stages(Reference *self, Str text, Ids *out)
{
    StagesReference *r = (StagesReference *)self;
    r->offsets.n = 0;
    assert_no_error(r->tokenizer->encode_offsets(r->tokenizer, text, false, out, &r->offsets));
}

static void release_offsets(void *arg)
{
    StagesReference *r = arg;
    ids_free(&r->offsets);
}

Reference *reference_stages(Arena *a, const Tokenizer *t)
{
    StagesReference *r = NEW(a, StagesReference);
    *r = (StagesReference){ { encode_stages }, t, { 0 } };
    arena_on_free(a, release_offsets, r);
    return &r->base;
}
