/* bpe.c - reads the BPE model of a tokenizer.json and lays out its tables. */
#include "tokenizer/bpe.h"
#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include <string.h>

enum { FILTER_BITS = 20, CROSS_BITS = 20 };

static uint64_t pair_hash(uint64_t key)
{
    return key * 0x9E3779B97F4A7C15u;
}
static uint64_t pair_key(uint32_t left, uint32_t right)
{
    return (uint64_t)left << 21 | right;
}
static bool bit(const uint64_t *bits, uint64_t i)
{
    return bits[i >> 6] >> (i & 63) & 1;
}
static void set_bit(uint64_t *bits, uint64_t i)
{
    bits[i >> 6] |= (uint64_t)1 << (i & 63);
}

uint32_t bpe_rank(const Bpe *b, uint32_t left, uint32_t right)
{
    uint64_t key = pair_key(left, right), hash = pair_hash(key);
    if (!bit(b->filter, hash >> (64 - FILTER_BITS))) return NO_RANK;
    for (uint64_t at = hash >> 20 & b->pair_mask;; at = (at + 1) & b->pair_mask) {
        if (b->pair[at] >> 22 == key) return (uint32_t)(b->pair[at] & ((1 << 22) - 1));
        if (b->pair[at] == UINT64_MAX) return NO_RANK;
    }
}

/* A later merge of the same pair replaces the earlier one, as in the library. */
static void add_pair(Bpe *b, uint32_t left, uint32_t right, int64_t rank)
{
    uint64_t key = pair_key(left, right), hash = pair_hash(key), at = hash >> 20 & b->pair_mask;
    set_bit(b->filter, hash >> (64 - FILTER_BITS));
    while (b->pair[at] != UINT64_MAX && b->pair[at] >> 22 != key) at = (at + 1) & b->pair_mask;
    b->pair[at] = key << 22 | (uint64_t)rank;
}

uint64_t bpe_cross_hash(const char *two_before)
{
    uint32_t four;
    memcpy(&four, two_before, 4);
    return (uint32_t)(four * 0x9E3779B1u) >> (32 - CROSS_BITS);
}

/* Notes where this merge can join bytes. Tokens with characters outside the alphabet never occur.
 */
static void add_cross(Bpe *b, uint32_t left, uint32_t right, int64_t rank, Text *l, Text *r)
{
    text_clear(l);
    text_clear(r);
    if (!name_to_bytes(b->vocab.name[left], l) || !name_to_bytes(b->vocab.name[right], r)) return;
    if (!l->len || !r->len) return;
    uint64_t pair = (uint64_t)(uint8_t)l->ptr[l->len - 1] << 8 | (uint8_t)r->ptr[0];
    if (l->len == 1 && r->len == 1) b->byte_pair[pair] = (uint32_t)rank;
    if (l->len == 1 || r->len == 1) {
        set_bit(b->cross_one, pair);
    } else {
        char around[4] = { l->ptr[l->len - 2], l->ptr[l->len - 1], r->ptr[0], r->ptr[1] };
        set_bit(b->cross_two, bpe_cross_hash(around));
    }
}

/* "left right" with one blank, or ["left", "right"]. */
static bool split_merge(const json_t *merge, Str *left, Str *right)
{
    if (json_array_size(merge) == 2) {
        const json_t *l = json_array_get(merge, 0), *r = json_array_get(merge, 1);
        *left = (Str){ json_string_value(l), json_string_length(l) };
        *right = (Str){ json_string_value(r), json_string_length(r) };
        return json_is_string(l) && json_is_string(r);
    }
    const char *text = json_string_value(merge), *space = text ? strchr(text, ' ') : NULL;
    if (!space || strchr(space + 1, ' ')) return false;
    *left = (Str){ text, (size_t)(space - text) };
    *right = str_of(space + 1);
    return true;
}

static Error *not_a_token(JsonNode at, Str name)
{
    return json_node_error(at, "\"%.*s\" is not in model.vocab", (int)name.len, name.ptr);
}

/* scratch: three texts that are used again. */
static Error *load_merge(Bpe *b, JsonNode merges, int64_t rank, Text scratch[3])
{
    Str part[3]; /* left, right, both */
    if (!split_merge(json_array_get(merges.value, (size_t)rank), &part[0], &part[1])) {
        return json_node_error(json_item(merges, (size_t)rank),
                               "must be \"left right\" with one blank, or [\"left\", \"right\"]");
    }
    text_clear(&scratch[2]);
    text_add(&scratch[2], part[0].ptr, part[0].len);
    text_add(&scratch[2], part[1].ptr, part[1].len);
    part[2] = (Str){ scratch[2].ptr, scratch[2].len };
    uint32_t id[3];
    for (int i = 0; i < 3; i++) {
        id[i] = vocab_find(&b->vocab, part[i]);
        if (id[i] == NO_TOKEN) return not_a_token(json_item(merges, (size_t)rank), part[i]);
    }
    b->merged[rank] = id[2];
    add_pair(b, id[0], id[1], rank);
    add_cross(b, id[0], id[1], rank, &scratch[0], &scratch[1]);
    return NULL;
}

static Error *load_merges(Bpe *b, JsonNode merges, Arena *a)
{
    if (!json_is_array(merges.value)) return json_node_error(merges, "must be a list");
    b->n_merges = (int64_t)json_array_size(merges.value);
    if (b->n_merges > MAX_MERGES)
        return json_node_error(merges, "has more than %d merges", MAX_MERGES);
    b->pair_mask = 15;
    while ((int64_t)b->pair_mask < 2 * b->n_merges) b->pair_mask = b->pair_mask * 2 + 1;
    b->merged = NEW_N(a, uint32_t, b->n_merges);
    b->pair = NEW_N(a, uint64_t, b->pair_mask + 1);
    memset(b->pair, 0xFF, (b->pair_mask + 1) * sizeof *b->pair);
    b->filter = NEW_N(a, uint64_t, (1 << FILTER_BITS) / 64);
    b->byte_pair = NEW_N(a, uint32_t, 1 << 16);
    memset(b->byte_pair, 0xFF, (1 << 16) * sizeof *b->byte_pair);
    b->cross_one = NEW_N(a, uint64_t, (1 << 16) / 64);
    b->cross_two = NEW_N(a, uint64_t, (1 << CROSS_BITS) / 64);

    Text scratch[3] = { { 0 } };
    Error *e = NULL;
    for (int64_t rank = 0; rank < b->n_merges && !e; rank++)
        e = load_merge(b, merges, rank, scratch);
    for (int i = 0; i < 3; i++) text_free(&scratch[i]);
    return e;
}

static void find_bytes(Bpe *b)
{
    b->covers_bytes = true;
    for (int byte = 0; byte < 256; byte++) {
        char name[4];
        int n = utf8_encode(byte_to_char((uint8_t)byte), name);
        b->byte_id[byte] = vocab_find(&b->vocab, (Str){ name, (size_t)n });
        if (b->byte_id[byte] == NO_TOKEN) b->covers_bytes = false;
    }
}

/* Settings of BPE over characters, which byte-level vocabularies leave empty. */
static Error *refuse_character_settings(JsonNode at)
{
    static const char *const affix[] = { "continuing_subword_prefix", "end_of_word_suffix" };
    for (int i = 0; i < 2; i++) {
        Str text;
        TRY(json_get_optional_string(at, affix[i], &text));
        if (text.len)
            return json_node_error(json_member(at, affix[i]), "is not supported (supported: null)");
    }
    bool byte_fallback;
    TRY(json_get_bool(at, "byte_fallback", DEFAULT_FALSE, &byte_fallback));
    if (byte_fallback) {
        return json_node_error(json_member(at, "byte_fallback"),
                               "is not supported (supported: false)");
    }
    JsonNode dropout = json_member(at, "dropout");
    if (!json_node_is_null(dropout) && json_number_value(dropout.value) != 0) {
        return json_node_error(dropout, "would make the ids random (supported: null)");
    }
    return NULL;
}

Error *bpe_load(JsonNode at, bool byte_words, Arena *a, Model **out)
{
    if (!byte_words) return json_node_error(at, "needs the pre-tokenizer ByteLevel");
    static const char *const known[] = { "type",
                                         "dropout",
                                         "unk_token",
                                         "continuing_subword_prefix",
                                         "end_of_word_suffix",
                                         "fuse_unk",
                                         "byte_fallback",
                                         "ignore_merges",
                                         "vocab",
                                         "merges",
                                         NULL };
    TRY(json_node_only(at, known));
    TRY(refuse_character_settings(at));
    Bpe *b = NEW(a, Bpe);
    b->base =
        (Model){ .kind = "BPE", .vocab = &b->vocab, .ids_per_byte = 1, .word_ids = bpe_word_ids };
    TRY(vocab_load(json_member(at, "vocab"), a, &b->vocab));
    TRY(load_merges(b, json_member(at, "merges"), a));
    find_bytes(b);
    TRY(json_get_bool(at, "fuse_unk", DEFAULT_FALSE, &b->fuse_unk));
    TRY(json_get_bool(at, "ignore_merges", DEFAULT_FALSE, &b->ignore_merges));
    Str unk;
    TRY(json_get_optional_string(at, "unk_token", &unk));
    b->unk_id = NO_TOKEN;
    if (unk.ptr) {
        b->unk_id = vocab_find(&b->vocab, unk);
        if (b->unk_id == NO_TOKEN) return not_a_token(json_member(at, "unk_token"), unk);
    }
    *out = &b->base;
    return NULL;
}
