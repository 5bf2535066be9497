/* offsets.c - ids with the place of each in the original text, as the library `tokenizers` has
 * it: stage after stage, each byte with the bytes of the original that it counts as. */
#include "base/utf8.h"
#include "tokenizer/hf/hf_tokenizer.h"
#include "tokenizer/text/byte_alphabet.h"
#include "tokenizer/text/unicode.h"
#include <string.h>

/* Bytes [from, to) of the original text. */
typedef struct Place {
    uint32_t from, to;
} Place;

/* A text between two stages and the place of each of its bytes; memory is used again. */
typedef struct Placed {
    Text text;
    Buffer room;
} Placed;

/* An id of the text: its place in characters, and how many blanks its token starts and ends with.
 */
typedef struct Found {
    uint32_t id, from, to, leading, trailing;
} Found;

typedef struct Offsets {
    const HfTokenizer *tokenizer;
    Str text;
    uint32_t *character; /* by byte of the text: the number of its character */
    Placed stage[2];     /* of the normalizer, in turn */
    Placed words[2];     /* of the pre-tokenizer: places alone */
    Placed spelled;
    Sources sources;
    NormalizerRoom normalizing;
    PreTokenizerRoom cutting;
    Buffer characters, pieces, subpieces, ids, spans, scratch;
    Found *found;
    int64_t n;
    Buffer room;
} Offsets;

static void offsets_free(Offsets *o)
{
    Placed *placed[] = { &o->stage[0], &o->stage[1], &o->words[0], &o->words[1], &o->spelled };
    Buffer *buffer[] = { &o->sources.index, &o->characters, &o->pieces,  &o->subpieces,
                         &o->ids,           &o->spans,      &o->scratch, &o->room };
    for (size_t i = 0; i < sizeof placed / sizeof *placed; i++) {
        text_free(&placed[i]->text);
        buffer_free(&placed[i]->room);
    }
    for (size_t i = 0; i < sizeof buffer / sizeof *buffer; i++) buffer_free(buffer[i]);
    normalizer_room_free(&o->normalizing);
    pretokenizer_room_free(&o->cutting);
}

/* The places of what was written, by the places of what it was made of, into `to` from byte `at`
 * on. What comes from nothing has the empty place in front. */
static void follow(const Sources *s, const Place *from, Placed *to, size_t at)
{
    const uint32_t *index = s->index.ptr;
    Place *place = buffer_grow(&to->room, (at + (size_t)s->n) * sizeof *place);
    for (int64_t i = 0; i < s->n; i++)
        place[at + (size_t)i] =
            index[i] == NO_SOURCE ? (Place){ from->from, from->from } : from[index[i]];
}

static void count_blanks(Str token, Found *f)
{
    bool only = true; /* blanks so far */
    int len;
    for (size_t at = 0; at < token.len; at += (size_t)len) {
        uint32_t c = utf8_decode(token.ptr + at, &len);
        bool blank = c == byte_to_char(' ') || unicode_flags(c) & UNICODE_SPACE;
        only &= blank;
        f->leading += only;
        f->trailing = blank ? f->trailing + 1 : 0;
    }
}

/* Characters of bytes, as the library converts them: a place at the end of the text that is empty
 * stays in bytes. */
static void add_found(Offsets *o, uint32_t id, Place p, Str token)
{
    Found *f = buffer_grow(&o->room, (size_t)(o->n + 1) * sizeof *f), *to = f + o->n++;
    o->found = f;
    *to = (Found){ .id = id, .from = p.from, .to = p.to };
    count_blanks(token, to);
    if (p.from >= o->text.len) return;
    to->from = o->character[p.from];
    if (p.to < o->text.len)
        to->to = o->character[p.to];
    else
        to->to = 1 + (p.to > o->text.len ? to->from : o->character[p.to - 1]);
}

static void add_token(Offsets *o, const Piece *piece, const Place *place)
{
    add_found(o, piece->id, (Place){ place->from, place[piece->text.len - 1].to }, piece->text);
}

/* The place of a span; the library gives the span itself where it ends after the word. */
static Place place_of(Span s, const Place *place, size_t len)
{
    if (s.to > len) return (Place){ (uint32_t)s.from, (uint32_t)s.to };
    if (s.from < s.to) return (Place){ place[s.from].from, place[s.to - 1].to };
    return (Place){ place->from + (uint32_t)s.from, place->from + (uint32_t)s.to };
}

/* The ids of a word: `bytes` is what the model reads, `word` the same as its vocabulary spells it.
 */
static Error *add_ids(Offsets *o, Str bytes, Str word, const Place *place)
{
    const WordModel *m = o->tokenizer->model;
    uint32_t *id = buffer_grow(&o->ids, bytes.len * (size_t)m->ids_per_byte * sizeof *id);
    int64_t n = m->word_ids(m, &o->scratch, bytes, id);
    for (int64_t i = 0; i < n; i++) {
        if (id[i] == NO_TOKEN) return error_new("%s", m->cannot);
    }
    if (!n) return NULL;
    Span *span = buffer_grow(&o->spans, (size_t)n * sizeof *span);
    m->spans(m, &o->scratch, word, id, n, span);
    for (int64_t i = 0; i < n; i++)
        add_found(o, id[i], place_of(span[i], place, word.len), m->vocab->name[id[i]]);
    return NULL;
}

static Error *add_word(Offsets *o, Str word, const Place *place)
{
    const PreTokenizer *p = &o->tokenizer->pretokenizer;
    Text *other = &o->spelled.text;
    if (!p->byte_words) return add_ids(o, word, word, place);
    text_clear(other);
    if (p->is_spelled) {
        bool is_spelled = name_to_bytes(word, other);
        CHECK(is_spelled);
        return add_ids(o, (Str){ other->ptr, other->len }, word, place);
    }
    o->sources.n = 0;
    bytes_to_name(word, other);
    byte_name_sources(word, &o->sources);
    follow(&o->sources, place, &o->spelled, 0);
    return add_ids(o, word, (Str){ other->ptr, other->len }, o->spelled.room.ptr);
}

/* Words that are found in place, after a blank that counts as what it stands before. */
static Error *cut_in_place(Offsets *o, Str piece, const Place *place)
{
    const PreTokenizer *p = &o->tokenizer->pretokenizer;
    Str s = pretokenizer_place(p, piece, &o->cutting.text);
    o->sources.n = 0;
    sources_copy(&o->sources, -(int64_t)(s.len - piece.len), s.len);
    follow(&o->sources, place, &o->words[0], 0);
    const Place *at = o->words[0].room.ptr;
    uint32_t len = (uint32_t)s.len, *end = buffer_grow(&o->cutting.ends, SPLIT_ROOM * sizeof *end);
    if (!p->split) return add_word(o, s, at);
    for (uint32_t from = 0; from < len;) {
        uint32_t until = len - from < SPLIT_BYTES ? len : from + SPLIT_BYTES;
        int64_t n = p->split(s.ptr, len, from, until, end);
        for (int64_t i = 0; i < n; from = end[i++])
            TRY(add_word(o, (Str){ s.ptr + from, end[i] - from }, at + from));
    }
    return NULL;
}

/* One step on all words; the places of words[to] follow those of the other. */
static Error *run_step(Offsets *o, const PreTokenizerStep *step, int to)
{
    const Words *from = &o->cutting.words[!to];
    Words *made = &o->cutting.words[to];
    const Place *place = o->words[!to].room.ptr;
    words_clear(made);
    made->sources = &o->sources;
    for (int64_t i = 0; i < from->n; i++) {
        Str word = words_at(from, i);
        size_t at = made->text.len;
        made->base = word.ptr;
        o->sources.n = 0;
        Error *e = step->run(step, word, place->from == 0, &o->cutting, made);
        if (e) return e;
        follow(&o->sources, place, &o->words[to], at);
        place += word.len;
    }
    made->sources = NULL;
    return NULL;
}

static Error *add_piece(Offsets *o, Str piece, const Place *place)
{
    const PreTokenizer *p = &o->tokenizer->pretokenizer;
    if (!p->n_steps && !p->is_spelled) return cut_in_place(o, piece, place);
    int now = 0;
    Words *words = o->cutting.words;
    words_clear(&words[0]);
    words_add(&words[0], piece);
    memcpy(buffer_grow(&o->words[0].room, piece.len * sizeof *place), place,
           piece.len * sizeof *place);
    for (int64_t i = 0; i < p->n_steps; i++, now = !now) TRY(run_step(o, p->step[i], !now));
    const Place *at = o->words[now].room.ptr;
    for (int64_t i = 0; i < words[now].n; i++) {
        Str word = words_at(&words[now], i);
        TRY(add_word(o, word, at));
        at += word.len;
    }
    return NULL;
}

/* Each step of the normalizer by itself; returns which of the two stages has the result. */
static Error *normalize(Offsets *o, int *now)
{
    const Normalizer *n = &o->tokenizer->normalizer;
    o->normalizing.sources = &o->sources;
    for (int64_t i = 0; i < n->n_steps; i++) {
        const Normalizer alone = { .step = &n->step[i], .n_steps = 1 };
        Placed *from = &o->stage[*now], *to = &o->stage[!*now];
        Str text = { from->text.ptr, from->text.len }, made;
        o->sources.n = 0;
        TRY(normalizer_run(&alone, text, &o->normalizing, &made));
        if (made.ptr == text.ptr && made.len == text.len) continue;
        CHECK(o->sources.n == (int64_t)made.len);
        text_clear(&to->text);
        text_add(&to->text, made.ptr, made.len);
        follow(&o->sources, from->room.ptr, to, 0);
        *now = !*now;
    }
    return NULL;
}

/* text[from, to), which has no tokens of the first search. */
static Error *add_stretch(Offsets *o, Str stretch)
{
    int now = 0;
    Place *place = buffer_grow(&o->stage[0].room, stretch.len * sizeof *place);
    uint32_t first = (uint32_t)(stretch.ptr - o->text.ptr);
    for (size_t at = 0, len; at < stretch.len; at += len) {
        len = utf8_char_bytes((uint8_t)stretch.ptr[at]);
        Place p = { first + (uint32_t)at, first + (uint32_t)(at + len) };
        for (size_t i = 0; i < len; i++) place[at + i] = p;
    }
    text_clear(&o->stage[0].text);
    text_add(&o->stage[0].text, stretch.ptr, stretch.len);
    TRY(normalize(o, &now));
    Str normal = { o->stage[now].text.ptr, o->stage[now].text.len };
    place = o->stage[now].room.ptr;
    Piece *piece;
    int64_t n = added_tokens_split(o->tokenizer->added, true, normal, &o->subpieces, &piece);
    for (int64_t i = 0; i < n; place += piece[i++].text.len) {
        if (piece[i].id != NO_TOKEN)
            add_token(o, &piece[i], place);
        else
            TRY(add_piece(o, piece[i].text, place));
    }
    return NULL;
}

static Error *add_text(Offsets *o)
{
    Piece *piece;
    int64_t n = added_tokens_split(o->tokenizer->added, false, o->text, &o->pieces, &piece);
    for (int64_t i = 0; i < n; i++) {
        Str text = piece[i].text;
        uint32_t from = (uint32_t)(text.ptr - o->text.ptr);
        if (piece[i].id == NO_TOKEN)
            TRY(add_stretch(o, text));
        else
            add_found(o, piece[i].id, (Place){ from, from + (uint32_t)text.len }, text);
    }
    return NULL;
}

/* White space at the ends of a token does not count, but for one blank in front of the first id
 * where the pre-tokenizer has put it there. */
static void trim(const OffsetTrim *t, Found *found, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        Found *f = &found[i];
        bool is_first = (i == 0 && !t->behind_special) || f->from == 0;
        uint32_t leading = is_first && t->keeps_first_blank && f->leading == 1 ? 0 : f->leading;
        if (leading) f->from = f->from + leading < f->to ? f->from + leading : f->to;
        if (f->trailing && f->to >= f->trailing)
            f->to = f->to - f->trailing > f->from ? f->to - f->trailing : f->from;
    }
}

static void put(Ids *ids, Ids *offsets, uint32_t id, uint32_t from, uint32_t to)
{
    ids_add(ids, id);
    ids_add(offsets, from);
    ids_add(offsets, to);
}

static void put_padding(const LengthRule *rule, int64_t n, Ids *ids, Ids *offsets)
{
    for (; n > 0; n--) put(ids, offsets, rule->pad_id, 0, 0);
}

/* Cut to its length, with special tokens, and padded. */
static Error *lay_out(Offsets *o, const TokenLayout *l, Ids *ids, Ids *offsets)
{
    const LengthRule *rule = &o->tokenizer->length;
    Chunks chunks = { 0 };
    Error *e = length_rule_cut(rule, l->n_added, &o->n, 1, &chunks);
    if (e) return e;
    TokenChunk kept = chunk_at(&chunks, 0);
    buffer_free(&chunks.room);
    Found *found = o->found + kept.from;
    int64_t n = kept.to - kept.from, n_all = 0;
    for (int64_t i = 0; i < l->n_trims; i++) trim(&l->trim[i], found, n);
    for (int64_t i = 0; i < l->n; i++) n_all += l->part[i].sequence < 0 ? 1 : n;
    int64_t padding = length_rule_padding(rule, n_all);
    if (rule->pads_left) put_padding(rule, padding, ids, offsets);
    for (int64_t i = 0; i < l->n; i++) {
        if (l->part[i].sequence < 0)
            put(ids, offsets, l->part[i].token, 0, 0);
        else
            for (int64_t k = 0; k < n; k++)
                put(ids, offsets, found[k].id, found[k].from, found[k].to);
    }
    if (!rule->pads_left) put_padding(rule, padding, ids, offsets);
    return NULL;
}

Error *hf_tokenizer_encode_offsets(const Tokenizer *self, Str text, bool add_special_tokens,
                                   Ids *out, Ids *offsets)
{
    Offsets o = { .tokenizer = (const HfTokenizer *)self, .text = text };
    TRY(tokenizer_check_text(text));
    o.character = buffer_grow(&o.characters, (text.len + 1) * sizeof *o.character);
    utf8_number_characters(text, o.character);
    Error *e = add_text(&o);
    const TokenLayout *l = &o.tokenizer->post_processor.layout[0][add_special_tokens];
    if (!e) e = lay_out(&o, l, out, offsets);
    offsets_free(&o);
    return e;
}
