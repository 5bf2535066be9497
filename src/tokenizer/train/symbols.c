/* symbols.c - the alphabet of a corpus, and its words as symbols.
 *
 * A character is a symbol, and another one with the prefix when it is not the first of its word,
 * with the suffix when it is the last. */
#include "base/utf8.h"
#include "tokenizer/model/vocab.h"
#include "tokenizer/text/byte_alphabet.h"
#include "tokenizer/train/bpe.h"
#include "tokenizer/train/pipeline.h"
#include <stdlib.h>

uint32_t token_names_id(TokenNames *t, Str name)
{
    if (!t->by_name) t->by_name = map_new(t->arena);
    uintptr_t known = (uintptr_t)map_get(t->by_name, name);
    if (known) return (uint32_t)(known - 1);
    t->name = arena_grow(t->arena, t->name, t->n, &t->cap, sizeof *t->name);
    t->name[t->n] = (Str){ arena_string_n(t->arena, name.ptr, name.len), name.len };
    map_set(t->by_name, name, (void *)(uintptr_t)(t->n + 1));
    return (uint32_t)t->n++;
}

enum { HAS_PREFIX = 1, HAS_SUFFIX = 2, N_FORMS = 4 };

typedef struct Character {
    int64_t count; /* in the corpus */
    uint32_t code;
    uint32_t id[N_FORMS]; /* NO_TOKEN: left out */
    bool occurs[N_FORMS];
} Character;

typedef struct Alphabet {
    const BpeTrainSettings *settings;
    bool is_byte_level;
    uint32_t *place; /* by code point: 1 + index of the character; 0: there is none */
    Character *character;
    int64_t n, cap;
} Alphabet;

/* The character at word[*at], which moves on, and its form. */
static uint32_t next_character(const Alphabet *alphabet, Str word, size_t *at, int *form)
{
    int len = 1;
    bool is_first = *at == 0;
    uint32_t code = alphabet->is_byte_level ? byte_to_char((uint8_t)word.ptr[*at])
                                            : utf8_decode(word.ptr + *at, &len);
    *at += (size_t)len;
    bool is_last = *at == word.len;
    *form = (alphabet->settings->prefix && !is_first ? HAS_PREFIX : 0) |
            (alphabet->settings->suffix && is_last ? HAS_SUFFIX : 0);
    return code;
}

static Character *character_of(Alphabet *b, Arena *a, uint32_t code)
{
    if (!b->place[code]) {
        b->character = arena_grow(a, b->character, b->n, &b->cap, sizeof *b->character);
        b->character[b->n] = (Character){ .code = code };
        for (int form = 0; form < N_FORMS; form++) b->character[b->n].id[form] = NO_TOKEN;
        b->place[code] = (uint32_t)++b->n;
    }
    return &b->character[b->place[code] - 1];
}

static void count_characters(Alphabet *b, Arena *a, const WordCounts *words)
{
    for (int64_t i = 0; i < words->n_slots; i++) {
        const WordCount *w = &words->slot[i];
        if (!w->count) continue;
        Str word = word_counts_text(words, w);
        int form;
        for (size_t at = 0; at < word.len;) {
            Character *c = character_of(b, a, next_character(b, word, &at, &form));
            c->count += w->count;
            c->occurs[form] = true;
        }
    }
    for (int byte = 0; b->settings->all_bytes && byte < 256; byte++)
        character_of(b, a, byte_to_char((uint8_t)byte))->count = INT64_MAX;
}

static int rarest_first(const void *x, const void *y)
{
    const Character *a = *(Character *const *)x, *b = *(Character *const *)y;
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    return (a->code < b->code) - (a->code > b->code);
}

static int by_code(const void *x, const void *y)
{
    const Character *a = *(Character *const *)x, *b = *(Character *const *)y;
    return (a->code > b->code) - (a->code < b->code);
}

/* The id of a character in one of its forms. */
static uint32_t form_id(const Alphabet *b, uint32_t code, int form, TokenNames *names)
{
    char utf8[4];
    Text name = { 0 };
    if (form & HAS_PREFIX) text_puts(&name, b->settings->prefix);
    text_add(&name, utf8, (size_t)utf8_encode(code, utf8));
    if (form & HAS_SUFFIX) text_puts(&name, b->settings->suffix);
    uint32_t id = token_names_id(names, (Str){ name.ptr, name.len });
    text_free(&name);
    return id;
}

/* Characters by code point, then their other forms likewise. */
static void give_ids(Alphabet *b, Arena *a, TokenNames *names)
{
    int64_t n = b->n, limit = b->settings->limit_alphabet;
    Character **kept = NEW_N(a, Character *, n);
    for (int64_t i = 0; i < n; i++) kept[i] = &b->character[i];
    if (limit && n > limit) {
        qsort(kept, (size_t)n, sizeof(Character *), rarest_first);
        kept += n - limit;
        n = limit;
    }
    qsort(kept, (size_t)n, sizeof(Character *), by_code);
    for (int64_t i = 0; i < n; i++) kept[i]->id[0] = form_id(b, kept[i]->code, 0, names);
    for (int64_t i = 0; i < n; i++) {
        for (int form = 1; form < N_FORMS; form++) {
            if (kept[i]->occurs[form]) kept[i]->id[form] = form_id(b, kept[i]->code, form, names);
        }
    }
}

static void spell(Alphabet *b, Arena *a, const WordCounts *words, Symbols *out)
{
    int64_t most = 0, at_symbol = 0;
    out->word = NEW_N(a, SymbolWord, words->n);
    for (int64_t i = 0; i < words->n_slots; i++) {
        if (words->slot[i].count) most += words->slot[i].len;
    }
    out->symbol = NEW_N(a, uint32_t, most);
    for (int64_t i = 0; i < words->n_slots; i++) {
        const WordCount *w = &words->slot[i];
        if (!w->count) continue;
        Str word = word_counts_text(words, w);
        SymbolWord *to = &out->word[out->n_words++];
        *to = (SymbolWord){ .at = at_symbol, .count = w->count };
        int form;
        for (size_t at = 0; at < word.len;) {
            uint32_t code = next_character(b, word, &at, &form);
            uint32_t id = b->character[b->place[code] - 1].id[form];
            if (id != NO_TOKEN) out->symbol[at_symbol++] = id;
        }
        to->len = (uint32_t)(at_symbol - to->at);
    }
    out->n_symbols = at_symbol;
}

void train_symbols(Arena *a, const BpeTrainSettings *s, const WordCounts *words, TokenNames *names,
                   Symbols *out)
{
    enum { BYTE_CODES = 0x200, CODES = 0x110000 };
    Arena *scratch = arena_new();
    Alphabet b = { .settings = s, .is_byte_level = train_is_byte_level(s->pre_tokenizer) };
    b.place = NEW_N(scratch, uint32_t, b.is_byte_level ? BYTE_CODES : CODES);
    *out = (Symbols){ 0 };
    count_characters(&b, scratch, words);
    give_ids(&b, scratch, names);
    spell(&b, a, words, out);
    arena_free(scratch);
}
