/* unigram.c - reads the model Unigram of a tokenizer.json and turns the best way into ids. */
#include "tokenizer/unigram/unigram.h"
#include "tokenizer/format/rust_number.h"
#include <math.h>

/* How much worse than the worst token an unknown character is. */
#define UNK_PENALTY 10.0

typedef struct Unigram {
    WordModel base;
    Vocab vocab;
    Lattice lattice;
    uint32_t byte_id[256];
    bool byte_fallback;
} Unigram;

/* The bytes of a text that is no token, when each of them has one. */
static int64_t as_bytes(const Unigram *u, Str text, uint32_t *out)
{
    for (size_t i = 0; i < text.len; i++) {
        out[i] = u->byte_id[(uint8_t)text.ptr[i]];
        if (out[i] == NO_TOKEN) return 0;
    }
    return (int64_t)text.len;
}

/* A run of unknown characters is one text; as such it may be a token after all. */
static int64_t unknown_run(const Unigram *u, Str text, uint32_t *out)
{
    uint32_t id = vocab_find(&u->vocab, text);
    if (id == NO_TOKEN && u->byte_fallback) {
        int64_t n = as_bytes(u, text, out);
        if (n) return n;
    }
    out[0] = id == NO_TOKEN ? u->lattice.unk_id : id;
    return 1;
}

/* The spans of `n` ids that stand for one text. */
static void set_spans(Span *span, int64_t n, const Step *first, const Step *last)
{
    for (int64_t i = 0; span && i < n; i++) span[i] = (Span){ first->from, last->to };
}

/* `span` may be NULL. */
static int64_t best_ids(const Unigram *u, Buffer *scratch, Str word, uint32_t *out, Span *span)
{
    Way way = lattice_best(&u->lattice, scratch, word, 0);
    if (way.n < 0) return out[0] = NO_TOKEN, 1;
    const Step *step = way.step;
    int64_t n = 0;
    for (int64_t i = 0, next; i < way.n; i = next) {
        next = i + 1;
        if (step[i].id != u->lattice.unk_id) {
            out[n++] = step[i].id;
            if (span) set_spans(span++, 1, &step[i], &step[i]);
            continue;
        }
        while (next < way.n && step[next].id == u->lattice.unk_id) next++;
        Str run = { word.ptr + step[i].from, step[next - 1].to - step[i].from };
        int64_t more = unknown_run(u, run, out + n);
        set_spans(span, more, &step[i], &step[next - 1]);
        if (span) span += more;
        n += more;
    }
    return n;
}

static int64_t word_ids(const WordModel *self, Buffer *scratch, Str word, uint32_t *out)
{
    return best_ids((const Unigram *)self, scratch, word, out, NULL);
}

static void spans(const WordModel *self, Buffer *scratch, Str word, const uint32_t *id, int64_t n,
                  Span *out)
{
    (void)id;
    Buffer again = { 0 };
    uint32_t *same = buffer_grow(&again, word.len * sizeof *same);
    int64_t found = best_ids((const Unigram *)self, scratch, word, same, out);
    CHECK(found == n);
    buffer_free(&again);
}

/* ["name", score] */
static Error *load_token(JsonNode at, Arena *a, Str *name, double *score)
{
    const json_t *n = json_array_get(at.value, 0), *s = json_array_get(at.value, 1);
    if (json_array_size(at.value) != 2 || !json_is_string(n) || !json_is_number(s)) {
        return json_node_error(at, "must be [\"token\", score]");
    }
    *name = (Str){ arena_string_n(a, json_string_value(n), json_string_length(n)),
                   json_string_length(n) };
    *score = rust_number(json_number_value(s));
    return NULL;
}

static Error *load_vocab(Unigram *u, JsonNode at, Arena *a)
{
    int64_t n = (int64_t)json_array_size(at.value);
    if (!json_is_array(at.value) || n > MAX_TOKEN_ID) {
        return json_node_error(at, "must be a list of at most %d tokens and scores", MAX_TOKEN_ID);
    }
    Arena *scratch = arena_new();
    Str *name = NEW_N(scratch, Str, n + 1), *key = NEW_N(scratch, Str, n + 1);
    uint32_t *id = NEW_N(scratch, uint32_t, n + 1);
    double *score = NEW_N(a, double, n + 1), least = INFINITY;
    Error *e = NULL;
    int64_t n_keys = 0;
    for (int64_t i = 0; i < n && !e; i++) {
        e = load_token(json_item(at, (size_t)i), a, &name[i], &score[i]);
        if (e) break;
        if (score[i] < least) least = score[i];
        if (!name[i].len) continue;
        key[n_keys] = name[i];
        id[n_keys++] = (uint32_t)i;
    }
    if (!e) {
        vocab_of_names(a, name, n, &u->vocab);
        u->lattice = (Lattice){ .trie = trie_new(a, key, id, n_keys), .score = score };
        u->lattice.unk_score = least - UNK_PENALTY;
    }
    arena_free(scratch);
    return e;
}

Error *unigram_load(JsonNode at, Arena *a, WordModel **out)
{
    static const char *const known[] = { "type", "unk_id", "vocab", "byte_fallback", NULL };
    TRY(json_node_only(at, known));
    Unigram *u = NEW(a, Unigram);
    u->base = (WordModel){ .kind = "Unigram",
                           .vocab = &u->vocab,
                           .ids_per_byte = 1,
                           .word_ids = word_ids,
                           .spans = spans };
    TRY(load_vocab(u, json_member(at, "vocab"), a));
    TRY(json_get_bool(at, "byte_fallback", DEFAULT_FALSE, &u->byte_fallback));
    vocab_find_bytes(&u->vocab, u->byte_id);
    u->lattice.unk_id = NO_TOKEN;
    u->base.cannot = "a character is not in the vocabulary, and the model has no unk_id";
    if (!json_node_is_null(json_member(at, "unk_id"))) {
        int64_t unk;
        TRY(json_get_int(at, "unk_id", 0, u->vocab.n - 1, &unk));
        u->lattice.unk_id = (uint32_t)unk;
        u->base.cannot = NULL;
    }
    *out = &u->base;
    return NULL;
}
