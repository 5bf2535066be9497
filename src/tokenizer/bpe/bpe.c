/* bpe.c - reads the BPE model of a tokenizer.json and lays out its tables. */
#include "tokenizer/bpe/walk.h"
#include "tokenizer/text/byte_alphabet.h"
#include <string.h>

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

/* The merged name is the left one and the right one without its prefix. */
static Error *load_merge(Bpe *b, JsonNode merges, int64_t rank, Text *both)
{
    Str part[3]; /* left, right, both */
    if (!split_merge(json_array_get(merges.value, (size_t)rank), &part[0], &part[1])) {
        return json_node_error(json_item(merges, (size_t)rank),
                               "must be \"left right\" with one blank, or [\"left\", \"right\"]");
    }
    if (part[1].len < b->prefix.len) {
        return json_node_error(json_item(merges, (size_t)rank),
                               "its right side is shorter than continuing_subword_prefix");
    }
    text_clear(both);
    text_add(both, part[0].ptr, part[0].len);
    text_add(both, part[1].ptr + b->prefix.len, part[1].len - b->prefix.len);
    part[2] = (Str){ both->ptr, both->len };
    uint32_t id[3];
    for (int i = 0; i < 3; i++) {
        id[i] = vocab_find(&b->vocab, part[i]);
        if (id[i] == NO_TOKEN) return not_a_token(json_item(merges, (size_t)rank), part[i]);
    }
    b->merged[rank] = id[2];
    bpe_add_pair(b, id[0], id[1], rank);
    return NULL;
}

static Error *load_merges(Bpe *b, JsonNode merges, Arena *a)
{
    if (!json_is_array(merges.value)) return json_node_error(merges, "must be a list");
    int64_t n = (int64_t)json_array_size(merges.value);
    if (n > MAX_MERGES) return json_node_error(merges, "has more than %d merges", MAX_MERGES);
    bpe_tables_new(b, a, n, n);
    Text both = { 0 };
    Error *e = NULL;
    for (int64_t rank = 0; rank < n && !e; rank++) e = load_merge(b, merges, rank, &both);
    text_free(&both);
    return e;
}

/* Calls add for each merge, in the order of the list. */
typedef void AddMerge(Bpe *b, Str left, Str right, int64_t rank, Text scratch[2]);

static void each_merge(Bpe *b, JsonNode merges, AddMerge *add)
{
    Text scratch[2] = { { 0 } };
    for (int64_t rank = 0; rank < b->n_merges; rank++) {
        Str left, right;
        CHECK(split_merge(json_array_get(merges.value, (size_t)rank), &left, &right));
        add(b, left, right, rank, scratch);
    }
    for (int i = 0; i < 2; i++) text_free(&scratch[i]);
}

/* Tokens with characters outside the byte alphabet never occur. */
static void add_bytes(Bpe *b, Str left, Str right, int64_t rank, Text scratch[2])
{
    Text *l = &scratch[0], *r = &scratch[1];
    text_clear(l);
    text_clear(r);
    if (!name_to_bytes(left, l) || !name_to_bytes(right, r)) return;
    bpe_add_byte_pair(b, (Str){ l->ptr, l->len }, (Str){ r->ptr, r->len }, rank);
}

/* A token that stands for something else than the text of its name. */
static bool is_stand_in(const Bpe *b, Str name)
{
    uint32_t id = vocab_find(&b->vocab, name);
    if (b->has_unk && id == b->unk_id) return true;
    for (int byte = 0; b->byte_fallback && byte < 256; byte++) {
        if (id == b->fallback_id[byte]) return true;
    }
    return false;
}

static void add_joint(Bpe *b, Str left, Str right, int64_t rank, Text scratch[2])
{
    (void)rank;
    (void)scratch;
    if (b->joins && (is_stand_in(b, left) || is_stand_in(b, right)))
        b->joins = NULL;
    else if (b->joins)
        joins_add(b->joins, left, right);
}

/* An unknown character may wait beyond the place of a cut unless a known one stands beside it;
 * where unknown ones are dropped, their neighbours meet, so both sides must be known. */
static void keep_unknown_together(Bpe *b)
{
    bool known[256] = { false };
    for (int c = 0; c < 128; c++) known[c] = b->ascii_id[c] != NO_TOKEN;
    known[BLANK_BYTE] = vocab_find(&b->vocab, str_of("\xE2\x96\x81")) != NO_TOKEN;
    for (int left = 0; left < 256; left++) {
        for (int right = 0; right < 256; right++) {
            bool apart = b->has_unk ? known[left] || known[right] : known[left] && known[right];
            if (!apart) joins_set(b->joins, (uint8_t)left, (uint8_t)right);
        }
    }
}

static void find_whole(Bpe *b, Arena *a, const Str *bytes, int64_t n)
{
    b->shortest_whole = SIZE_MAX;
    for (int64_t id = 0; id < n; id++) {
        size_t len = bytes[id].len;
        if (!len || (b->walk && bpe_walk_makes(b->walk, id))) continue;
        if (!b->whole) b->whole = map_new(a);
        map_set(b->whole, bytes[id], (void *)(uintptr_t)(id + 1));
        if (len < b->shortest_whole) b->shortest_whole = len;
        if (len > b->longest_whole) b->longest_whole = len;
    }
}

void bpe_prepare_byte_walk(Bpe *b, Arena *a, const Str *bytes, int64_t n)
{
    b->walk = bpe_walk_new_bytes(a, b, bytes, n);
    if (b->ignore_merges) find_whole(b, a, bytes, n);
    if (b->covers_bytes && !b->whole) b->base.cut = bpe_cut_bytes;
    if (b->walk) b->base.cut_most = LONGEST_MERGED;
}

/* Names with characters outside the byte alphabet stand for nothing. */
static void prepare_named_walk(Bpe *b, Arena *a)
{
    Arena *scratch = arena_new();
    Str *text = NEW_N(scratch, Str, b->vocab.n_ids);
    Text bytes = { 0 };
    for (int64_t id = 0; id < b->vocab.n_ids; id++) {
        text_clear(&bytes);
        if (!b->vocab.name[id].len || !name_to_bytes(b->vocab.name[id], &bytes)) continue;
        text[id] = (Str){ arena_string_n(scratch, bytes.ptr, bytes.len), bytes.len };
    }
    text_free(&bytes);
    bpe_prepare_byte_walk(b, a, text, b->vocab.n_ids);
    arena_free(scratch);
}

static void prepare_chars(Bpe *b, JsonNode merges, Arena *a)
{
    bool all_bytes = vocab_find_bytes(&b->vocab, b->fallback_id);
    for (int c = 0; c < 128; c++) {
        char byte = (char)c;
        b->ascii_id[c] = vocab_find(&b->vocab, (Str){ &byte, 1 });
    }
    int64_t affix_bytes = (int64_t)(b->prefix.len + b->suffix.len);
    if (b->byte_fallback) b->base.ids_per_byte += affix_bytes;
    if (affix_bytes || b->ignore_merges) return;
    b->joins = joins_new(a);
    each_merge(b, merges, add_joint);
    if (!b->joins) return;
    if (!(b->byte_fallback && all_bytes)) keep_unknown_together(b);
    b->base.cut = bpe_cut;
    /* Where unknown characters are dropped, their neighbours may merge: not on a walk. */
    if (!b->has_unk && !(b->byte_fallback && all_bytes)) return;
    b->walk = bpe_walk_new(a, b, b->vocab.name, b->vocab.n_ids, bpe_symbol_at, b);
    bpe_walk_keep_pairs(a, b, b->vocab.n_ids);
}

static Error *check_dropout(JsonNode at)
{
    JsonNode dropout = json_member(at, "dropout");
    double p = json_number_value(dropout.value);
    if (json_node_is_null(dropout)) return NULL;
    if (!json_is_number(dropout.value) || p < 0 || p > 1)
        return json_node_error(dropout, "must be a number from 0 to 1");
    return NULL;
}

static Error *load_settings(Bpe *b, JsonNode at, Arena *a)
{
    TRY(json_get_bool(at, "fuse_unk", DEFAULT_FALSE, &b->fuse_unk));
    TRY(json_get_bool(at, "ignore_merges", DEFAULT_FALSE, &b->ignore_merges));
    TRY(json_get_bool(at, "byte_fallback", DEFAULT_FALSE, &b->byte_fallback));
    TRY(json_get_optional_string(at, "continuing_subword_prefix", &b->prefix));
    TRY(json_get_optional_string(at, "end_of_word_suffix", &b->suffix));
    TRY(check_dropout(at));
    Str *kept[] = { &b->prefix, &b->suffix }; /* the file is forgotten after loading */
    for (int i = 0; i < 2; i++) kept[i]->ptr = arena_string_n(a, kept[i]->ptr, kept[i]->len);
    Str unk;
    TRY(json_get_optional_string(at, "unk_token", &unk));
    b->has_unk = unk.ptr != NULL;
    b->unk_id = b->has_unk ? vocab_find(&b->vocab, unk) : NO_TOKEN;
    if (b->has_unk && b->unk_id == NO_TOKEN) {
        b->base.cannot = arena_printf(a,
                                      "a character is not in the vocabulary, and neither is the "
                                      "unk_token \"%.*s\"",
                                      (int)unk.len, unk.ptr);
    }
    return NULL;
}

Error *bpe_load(JsonNode at, bool byte_words, Arena *a, WordModel **out)
{
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
    Bpe *b = NEW(a, Bpe);
    b->base =
        (WordModel){ .kind = "BPE", .vocab = &b->vocab, .ids_per_byte = 1, .spans = bpe_spans };
    JsonNode merges = json_member(at, "merges");
    TRY(vocab_load(json_member(at, "vocab"), a, &b->vocab));
    TRY(load_settings(b, at, a));
    TRY(load_merges(b, merges, a));
    *out = &b->base;
    if (byte_words && !b->prefix.len && !b->suffix.len && !b->byte_fallback) {
        b->base.word_ids = bpe_word_ids;
        bpe_bytes_new(b, a);
        each_merge(b, merges, add_bytes);
        prepare_named_walk(b, a);
        return NULL;
    }
    b->base.word_ids = bpe_char_ids;
    prepare_chars(b, merges, a);
    if (byte_words) *out = model_spelled(a, &b->base);
    return NULL;
}
