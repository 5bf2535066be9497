/* train_merges.c - chooses merges: the pair of symbols that occurs most, again and again.
 *
 * Follows the library's BpeTrainer step by step, so that the merges are the same. A queue holds
 * entries of a pair, its count and words that have it; an entry whose count is out of date goes
 * back with the right one. When a pair is merged, the counts of its neighbours change (its own does
 * not), and each pair that gained words gets an entry with just these. A merge whose text exists
 * already, as a special token or from another merge, is listed but takes no new id. */
#include "base/map.h"
#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/train_bpe.h"
#include "tokenizer/train_pairs.h"
#include "tokenizer/vocab.h"
#include <stdlib.h>
#include <string.h>

/* A word as symbols: symbol[at, at + len) of the trainer. */
typedef struct Word {
    int64_t at, count;
    uint32_t len;
} Word;

typedef struct Gain {
    uint32_t pair, word;
} Gain;

typedef struct Trainer {
    const TrainSettings *settings;
    Arena *arena, *work; /* of the result; of this run */
    TrainedBpe *out;
    int64_t name_cap, merge_cap;
    Map *by_name;   /* id + 1 as a pointer */
    Buffer lengths; /* by id: characters of the name, int64_t */
    Word *word;
    int64_t n_words;
    uint32_t *symbol; /* of all words */
    PairTable pairs;
    PairQueue queue;
    Buffer gains, touched; /* of the step under way: Gain; pairs with n_gained > 0 */
    int64_t n_gains, n_touched;
    uint32_t *room; /* for lists of words */
    int64_t n_room;
} Trainer;

static int64_t *lengths(const Trainer *t)
{
    return t->lengths.ptr;
}

static int64_t count_characters(Str s)
{
    int64_t n = 0;
    for (size_t i = 0; i < s.len; i++) n += (s.ptr[i] & 0xC0) != 0x80;
    return n;
}

/* The id of a name, a new one if it has none. */
static uint32_t id_of(Trainer *t, Str name)
{
    uintptr_t known = (uintptr_t)map_get(t->by_name, name);
    if (known) return (uint32_t)(known - 1);
    TrainedBpe *b = t->out;
    b->name = arena_grow(t->arena, b->name, b->n_ids, &t->name_cap, sizeof *b->name);
    b->name[b->n_ids] = arena_string_n(t->arena, name.ptr, name.len);
    buffer_grow(&t->lengths, (size_t)(b->n_ids + 1) * sizeof(int64_t));
    lengths(t)[b->n_ids] = count_characters(name);
    map_set(t->by_name, name, (void *)(uintptr_t)(b->n_ids + 1));
    return (uint32_t)b->n_ids++;
}

typedef struct ByteUse {
    int64_t count;
    uint32_t character;
    uint8_t byte;
} ByteUse;

static int rarest_first(const void *x, const void *y)
{
    const ByteUse *a = x, *b = y;
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    return (a->character < b->character) - (a->character > b->character);
}

static int by_character(const void *x, const void *y)
{
    const ByteUse *a = x, *b = y;
    return (a->character > b->character) - (a->character < b->character);
}

/* Gives ids to the characters of the bytes: those that occur, or all. `id` gets NO_TOKEN for the
 * rest. */
static void add_alphabet(Trainer *t, const WordCounts *words, uint32_t id[256])
{
    int64_t count[256] = { 0 };
    for (int64_t i = 0; i < words->n_slots; i++) {
        const WordCount *c = &words->slot[i];
        Str text = c->count ? word_counts_text(words, c) : (Str){ NULL, 0 };
        for (size_t k = 0; k < text.len; k++) count[(uint8_t)text.ptr[k]] += c->count;
    }
    ByteUse use[256];
    int64_t n = 0;
    for (int b = 0; b < 256; b++) {
        id[b] = NO_TOKEN;
        if (t->settings->bpe.all_bytes) count[b] = INT64_MAX;
        if (count[b]) use[n++] = (ByteUse){ count[b], byte_to_char((uint8_t)b), (uint8_t)b };
    }
    ByteUse *first = use;
    int64_t limit = t->settings->bpe.limit_alphabet;
    if (limit && n > limit) {
        qsort(use, (size_t)n, sizeof *use, rarest_first);
        first += n - limit;
        n = limit;
    }
    qsort(first, (size_t)n, sizeof *use, by_character);
    for (int64_t i = 0; i < n; i++) {
        char name[4];
        id[first[i].byte] = id_of(t, (Str){ name, (size_t)utf8_encode(first[i].character, name) });
    }
}

/* Bytes without a symbol are left out of their words. */
static void add_words(Trainer *t, const WordCounts *words, const uint32_t id[256])
{
    int64_t n_symbols = 0;
    t->word = NEW_N(t->work, Word, words->n);
    for (int64_t i = 0; i < words->n_slots; i++) n_symbols += words->slot[i].len;
    t->symbol = NEW_N(t->work, uint32_t, n_symbols);
    int64_t at = 0;
    for (int64_t i = 0; i < words->n_slots; i++) {
        const WordCount *c = &words->slot[i];
        if (!c->count) continue;
        Str text = word_counts_text(words, c);
        Word *w = &t->word[t->n_words++];
        *w = (Word){ .at = at, .count = c->count };
        for (size_t k = 0; k < text.len; k++) {
            uint32_t symbol = id[(uint8_t)text.ptr[k]];
            if (symbol != NO_TOKEN) t->symbol[at++] = symbol;
        }
        w->len = (uint32_t)(at - w->at);
    }
}

static uint32_t *take_room(Trainer *t, int64_t n)
{
    enum { CHUNK = 1 << 20 };
    if (n > t->n_room) {
        t->n_room = n > CHUNK ? n : CHUNK;
        t->room = NEW_N(t->work, uint32_t, t->n_room);
    }
    t->n_room -= n;
    t->room += n;
    return t->room - n;
}

static void change(Trainer *t, uint32_t word, uint32_t left, uint32_t right, int sign)
{
    uint32_t index = pair_table_index(&t->pairs, left, right);
    Pair *p = pair_table_at(&t->pairs, index);
    p->count += sign * t->word[word].count;
    if (sign < 0) return;
    if (!p->n_gained++) {
        uint32_t *touched = buffer_grow(&t->touched, (size_t)(t->n_touched + 1) * sizeof *touched);
        touched[t->n_touched++] = index;
    }
    Gain *gain = buffer_grow(&t->gains, (size_t)(t->n_gains + 1) * sizeof *gain);
    gain[t->n_gains++] = (Gain){ index, word };
}

/* Ends a step: pairs that gained words are queued with them. Words come in rising order. */
static void queue_gains(Trainer *t)
{
    const uint32_t *touched = t->touched.ptr;
    const Gain *gain = t->gains.ptr;
    for (int64_t i = 0; i < t->n_touched; i++) {
        Pair *p = pair_table_at(&t->pairs, touched[i]);
        p->words = take_room(t, p->n_gained);
        p->n_gained = 0;
    }
    for (int64_t i = 0; i < t->n_gains; i++) {
        Pair *p = pair_table_at(&t->pairs, gain[i].pair);
        if (p->n_gained && p->words[p->n_gained - 1] == gain[i].word) continue;
        p->words[p->n_gained++] = gain[i].word;
    }
    for (int64_t i = 0; i < t->n_touched; i++) {
        Pair *p = pair_table_at(&t->pairs, touched[i]);
        PairEntry e = { p->count, p->left, p->right, touched[i], (uint32_t)p->n_gained, p->words };
        p->n_gained = 0;
        if (p->count > 0) pair_queue_push(&t->queue, e);
    }
    t->n_gains = t->n_touched = 0;
}

static void count_pairs(Trainer *t)
{
    for (int64_t w = 0; w < t->n_words; w++) {
        const uint32_t *symbol = t->symbol + t->word[w].at;
        for (uint32_t i = 0; i + 1 < t->word[w].len; i++)
            change(t, (uint32_t)w, symbol[i], symbol[i + 1], 1);
    }
    queue_gains(t);
}

/* A pair made by a merge counts only when both parts together stay below the limit. */
static void gain_pair(Trainer *t, uint32_t word, uint32_t left, uint32_t right)
{
    int64_t limit = t->settings->bpe.max_token_length;
    if (!limit || lengths(t)[left] + lengths(t)[right] < limit) change(t, word, left, right, 1);
}

static void merge_word(Trainer *t, uint32_t word, uint32_t left, uint32_t right, uint32_t merged)
{
    Word *w = &t->word[word];
    uint32_t *symbol = t->symbol + w->at, n = 0;
    for (uint32_t i = 0; i < w->len;) {
        bool found = i + 1 < w->len && symbol[i] == left && symbol[i + 1] == right;
        if (!found) {
            symbol[n++] = symbol[i++];
            continue;
        }
        i += 2;
        if (n) {
            change(t, word, symbol[n - 1], left, -1);
            gain_pair(t, word, symbol[n - 1], merged);
        }
        symbol[n++] = merged;
        if (i < w->len) {
            change(t, word, right, symbol[i], -1);
            gain_pair(t, word, merged, symbol[i]);
        }
    }
    w->len = n;
}

static void merge_pair(Trainer *t, const PairEntry *e)
{
    TrainedBpe *b = t->out;
    Text name = { 0 };
    text_puts(&name, b->name[e->left]);
    text_puts(&name, b->name[e->right]);
    uint32_t merged = id_of(t, (Str){ name.ptr, name.len });
    text_free(&name);
    b->merge = arena_grow(t->arena, b->merge, b->n_merges, &t->merge_cap, sizeof *b->merge);
    b->merge[b->n_merges][0] = e->left;
    b->merge[b->n_merges++][1] = e->right;
    for (uint32_t i = 0; i < e->n_words; i++) merge_word(t, e->words[i], e->left, e->right, merged);
    queue_gains(t);
}

static Error *merge_until_full(Trainer *t, TrainSummary *summary)
{
    const TrainSettings *s = t->settings;
    int64_t first = t->out->n_ids;
    PairEntry e;
    while (t->out->n_ids < s->vocab_size && pair_queue_pop(&t->queue, &e)) {
        int64_t count = pair_table_at(&t->pairs, e.pair)->count;
        if (e.count != count) {
            e.count = count;
            pair_queue_push(&t->queue, e);
            continue;
        }
        if (count < 1 || count < s->bpe.min_frequency) break;
        merge_pair(t, &e);
        summary->min_count = count;
        if (t->out->n_merges % 256) continue;
        TRY(train_step(s, "merging pairs", t->out->n_ids - first, s->vocab_size - first));
    }
    return NULL;
}

static Error *train(Trainer *t, const WordCounts *words, TrainSummary *summary)
{
    const TrainSettings *s = t->settings;
    for (int64_t i = 0; i < s->bpe.n_special_tokens; i++)
        id_of(t, str_of(s->bpe.special_tokens[i]));
    uint32_t byte_id[256];
    add_alphabet(t, words, byte_id);
    if (t->out->n_ids > s->vocab_size) {
        return error_new(
            "vocab_size %lld is less than the %lld ids of special tokens and single bytes",
            (long long)s->vocab_size, (long long)t->out->n_ids);
    }
    add_words(t, words, byte_id);
    count_pairs(t);
    TRY(merge_until_full(t, summary));
    summary->n_ids = t->out->n_ids;
    summary->n_merges = t->out->n_merges;
    return NULL;
}

Error *train_merges(Arena *a, const TrainSettings *s, const WordCounts *words, TrainedBpe *out,
                    TrainSummary *summary)
{
    *out = (TrainedBpe){ 0 };
    if (words->n > UINT32_MAX)
        return error_new("%lld different words are too many", (long long)words->n);
    Trainer t = { .settings = s, .arena = a, .work = arena_new(), .out = out };
    t.by_name = map_new(t.work);
    Error *e = train(&t, words, summary);
    pair_table_free(&t.pairs);
    pair_queue_free(&t.queue);
    buffer_free(&t.lengths);
    buffer_free(&t.gains);
    buffer_free(&t.touched);
    arena_free(t.work);
    return e;
}
