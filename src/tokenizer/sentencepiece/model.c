/* model.c - what the four kinds of models have in common, and the two simple ones. */
#include "tokenizer/sentencepiece/model.h"
#include "base/utf8.h"
#include <string.h>

/* The bytes of normalized text that a symbol stands for. */
static size_t symbol_bytes(const SpModel *m, uint32_t symbol, Str text, size_t at)
{
    size_t n = symbol < m->file->n ? m->name[symbol].len : utf8_char_bytes((uint8_t)text.ptr[at]);
    return n < text.len - at ? n : text.len - at;
}

/* What a symbol's text means by its name, where reserved pieces come first. */
static uint32_t symbol_id(const SpModel *m, uint32_t symbol, Str text)
{
    if (symbol < m->file->n) return m->shown ? m->shown[symbol] : symbol;
    Text spelled = { 0 };
    sp_add_spelled(m->file, text, &spelled);
    uint32_t id = vocab_find(&m->file->reserved, (Str){ spelled.ptr, spelled.len });
    text_free(&spelled);
    return id == NO_TOKEN ? m->file->unk_id : id;
}

/* An unknown run under way: text[from, to). */
typedef struct Spelling {
    const SpModel *model;
    void (*add)(void *to, Str piece, uint32_t id);
    void *to;
    Text unknown;
} Spelling;

static void end_unknown(Spelling *s)
{
    if (s->unknown.len)
        s->add(s->to, (Str){ s->unknown.ptr, s->unknown.len }, s->model->file->unk_id);
    text_clear(&s->unknown);
}

static void add_unknown(Spelling *s, Str text)
{
    const SpFile *f = s->model->file;
    sp_add_spelled(f, text, &s->unknown);
    if (!f->byte_fallback) return;
    for (size_t i = 0; i < s->unknown.len; i++) {
        uint32_t id = f->byte_id[(uint8_t)s->unknown.ptr[i]];
        s->add(s->to, f->name[id], id);
    }
    text_clear(&s->unknown);
}

void sp_model_pieces(const SpModel *m, Str text, const uint32_t *symbol, int64_t n,
                     void (*add)(void *to, Str piece, uint32_t id), void *to)
{
    Spelling s = { .model = m, .add = add, .to = to };
    size_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        Str part = { text.ptr + at, symbol_bytes(m, symbol[i], text, at) };
        uint32_t id = symbol_id(m, symbol[i], part);
        at += part.len;
        if (id == m->file->unk_id) {
            add_unknown(&s, part);
        } else {
            end_unknown(&s);
            add(to, m->file->name[id], id);
        }
    }
    end_unknown(&s);
    text_free(&s.unknown);
}

static void write_id(void *to, Str piece, uint32_t id)
{
    (void)piece;
    *(*(uint32_t **)to)++ = id;
}

int64_t sp_model_ids(const SpModel *m, Str text, const uint32_t *symbol, int64_t n, uint32_t *out)
{
    uint32_t *to = out;
    sp_model_pieces(m, text, symbol, n, write_id, &to);
    return to - out;
}

/* Symbols are written to `out` and become ids there: nearly always they are ids already. */
static int64_t word_ids(const WordModel *self, Buffer *scratch, Str word, uint32_t *out)
{
    const SpModel *m = (const SpModel *)self;
    int64_t n = m->symbolize(m, scratch, word, out);
    bool are_ids = !m->shown;
    for (int64_t i = 0; i < n && are_ids; i++) are_ids = out[i] < m->file->n;
    if (are_ids) return n;
    uint32_t *symbol = buffer_grow(scratch, (size_t)n * sizeof *symbol);
    memcpy(symbol, out, (size_t)n * sizeof *symbol);
    return sp_model_ids(m, word, symbol, n, out);
}

/* A user-defined symbol, or one character. */
static int64_t symbolize_chars(const SpModel *m, Buffer *scratch, Str text, uint32_t *out)
{
    (void)scratch;
    int64_t n = 0;
    for (size_t at = 0; at < text.len;) {
        Str rest = { text.ptr + at, text.len - at };
        uint32_t id;
        size_t len = trie_longest(&m->keep, rest, &id);
        if (!len) {
            len = utf8_char_bytes((uint8_t)rest.ptr[0]);
            if (len > rest.len) len = rest.len;
            id = vocab_find(&m->symbols, (Str){ rest.ptr, len });
        }
        out[n++] = id == NO_TOKEN ? (uint32_t)m->symbols.n : id;
        at += len;
    }
    return n;
}

static bool starts_word(const SpModel *m, Str rest)
{
    return m->file->rules.escape_whitespaces ? rest.ptr[0] == ' '
                                             : str_starts(rest, "\xE2\x96\x81");
}

/* A word from one blank to the next. Unknown ones are given as their characters, which comes to the
 * same in the end. */
static int64_t symbolize_words(const SpModel *m, Buffer *scratch, Str text, uint32_t *out)
{
    (void)scratch;
    int64_t n = 0;
    for (size_t at = 0, end; at < text.len; at = end) {
        for (end = at + 1; end < text.len; end++) {
            if (starts_word(m, (Str){ text.ptr + end, text.len - end })) break;
        }
        uint32_t id = vocab_find(&m->symbols, (Str){ text.ptr + at, end - at });
        if (id != NO_TOKEN) {
            out[n++] = id;
            continue;
        }
        for (size_t i = at; i < end; i += utf8_char_bytes((uint8_t)text.ptr[i]))
            out[n++] = (uint32_t)m->symbols.n;
    }
    return n;
}

static void find_names(Arena *a, SpModel *m)
{
    const SpFile *f = m->file;
    m->name = NEW_N(a, Str, f->n);
    Arena *scratch = arena_new();
    Str *key = NEW_N(scratch, Str, f->n);
    uint32_t *id = NEW_N(scratch, uint32_t, f->n);
    int64_t n_keys = 0;
    for (int64_t i = 0; i < f->n; i++) {
        m->name[i] = (Str){ "", 0 };
        uint8_t type = f->type[i];
        if (type != SP_NORMAL && type != SP_USER_DEFINED && type != SP_UNUSED) continue;
        Str name = sp_matching_name(a, f, f->name[i]);
        if (!name.ptr) continue;
        m->name[i] = name;
        if (type != SP_USER_DEFINED) continue;
        key[n_keys] = name;
        id[n_keys++] = (uint32_t)i;
    }
    m->keep = trie_new(a, key, id, n_keys);
    arena_free(scratch);
}

static void find_shown(Arena *a, SpModel *m)
{
    const SpFile *f = m->file;
    uint32_t *shown = NEW_N(a, uint32_t, f->n);
    for (int64_t i = 0; i < f->n; i++) {
        shown[i] = m->name[i].len ? sp_file_id(f, f->name[i]) : (uint32_t)i;
        if (shown[i] != i) m->shown = shown;
    }
}

int64_t sp_model_ids_per_byte(const SpFile *f)
{
    return f->byte_fallback && f->rules.escape_whitespaces ? 3 : 1; /* of U+2581 */
}

Error *sp_model_new(Arena *a, const SpFile *f, SpModel **out)
{
    static const char *const kinds[] = { NULL, "SentencePiece Unigram", "SentencePiece BPE",
                                         "SentencePiece word", "SentencePiece char" };
    SpModel *m = *out = NEW(a, SpModel);
    m->file = f;
    m->base = (WordModel){ .kind = kinds[f->kind],
                           .vocab = &f->usable,
                           .ids_per_byte = sp_model_ids_per_byte(f),
                           .word_ids = word_ids };
    find_names(a, m);
    vocab_of_names(a, m->name, f->n, &m->symbols);
    if (f->kind != SP_UNIGRAM) find_shown(a, m);
    if (f->kind == SP_CHAR) m->symbolize = symbolize_chars;
    if (f->kind == SP_WORD) m->symbolize = symbolize_words;
    if (f->kind == SP_UNIGRAM) sp_unigram_prepare(a, m);
    if (f->kind == SP_BPE) TRY(sp_bpe_prepare(a, m));
    if (f->kind == SP_UNIGRAM || (f->kind == SP_BPE && !m->resplits)) sp_cut_prepare(a, m);
    return NULL;
}
