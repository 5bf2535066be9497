/* merges.c - chooses merges: the pair of symbols that occurs most, again and again.
 *
 * Follows the library's BpeTrainer step by step, so that the merges are the same. A queue holds
 * entries of a pair, its count and words that have it; an entry whose count is out of date goes
 * back with the right one. When a pair is merged, the counts of its neighbours change (its own does
 * not), and each pair that gained words gets an entry with just these. A merge whose text exists
 * already, as a special token or from another merge, is listed but takes no new id.
 *
 * Beside every symbol lies the index of the pair that starts there, so that a pair is found in a
 * word, and counted down, without looking it up. All pairs that a merge makes have the merged
 * symbol in them: those of one step are found by their other symbol. */
#include "tokenizer/train/bpe.h"
#include "tokenizer/train/pairs.h"
#include <string.h>

/* A pair that the step under way makes. */
typedef struct Gained {
    uint32_t pair;
    uint32_t n; /* words that gained it */
    uint32_t *words;
} Gained;

typedef struct Gain {
    uint32_t gained, word; /* index of a Gained */
} Gain;

typedef struct Merger {
    const TrainSettings *settings;
    Arena *work; /* of this run */
    TrainedBpe *out;
    int64_t merge_cap;
    Symbols symbols;
    uint32_t *pair_at; /* by symbol: the pair of it and the next one of its word */
    int64_t *length;   /* by id: characters */
    PairTable pairs;
    PairQueue queue;
    uint32_t left, right, merged; /* of the step under way */
    uint32_t *before, *after;     /* by id x: 1 + index in `gained` of (x, merged), (merged, x) */
    Buffer gained, gains;         /* Gained, Gain */
    int64_t n_gained, n_gains;
    uint32_t *room; /* for lists of words */
    int64_t n_room;
} Merger;

static uint32_t *take_room(Merger *m, int64_t n)
{
    enum { CHUNK = 1 << 18 };
    if (n > m->n_room) {
        m->n_room = n > CHUNK ? n : CHUNK;
        m->room = NEW_N(m->work, uint32_t, m->n_room);
    }
    m->n_room -= n;
    m->room += n;
    return m->room - n;
}

static void push(Merger *m, uint32_t pair, const uint32_t *words, uint32_t n_words)
{
    const Pair *p = &pair_table_all(&m->pairs)[pair];
    PairEntry e = { p->count, p->left, p->right, pair, n_words, words };
    if (p->count > 0 && n_words) pair_queue_push(&m->queue, e);
}

/* ---- the pairs at the start ---- */

static void count_pairs(Merger *m)
{
    const Symbols *s = &m->symbols;
    for (int64_t w = 0; w < s->n_words; w++) {
        const SymbolWord *word = &s->word[w];
        for (int64_t i = word->at; i + 1 < word->at + word->len; i++) {
            m->pair_at[i] = pair_table_index(&m->pairs, s->symbol[i], s->symbol[i + 1]);
            pair_table_all(&m->pairs)[m->pair_at[i]].count += word->count;
        }
    }
}

/* Every pair is queued with the words that have it. */
static void queue_first_pairs(Merger *m)
{
    const Symbols *s = &m->symbols;
    Gained *list = NEW_N(m->work, Gained, m->pairs.n);
    for (int64_t i = 0; i < s->n_symbols; i++) list[m->pair_at[i]].n++;
    for (int64_t p = 0; p < m->pairs.n; p++) {
        list[p].words = take_room(m, list[p].n);
        list[p].n = 0;
    }
    for (int64_t w = 0; w < s->n_words; w++) {
        const SymbolWord *word = &s->word[w];
        for (int64_t i = word->at; i + 1 < word->at + word->len; i++) {
            Gained *g = &list[m->pair_at[i]];
            if (!g->n || g->words[g->n - 1] != (uint32_t)w) g->words[g->n++] = (uint32_t)w;
        }
    }
    for (int64_t p = 0; p < m->pairs.n; p++) push(m, (uint32_t)p, list[p].words, list[p].n);
}

/* ---- one step ---- */

static void add_gained(Merger *m, uint32_t *place, uint32_t pair)
{
    Gained *g = buffer_grow(&m->gained, (size_t)(m->n_gained + 1) * sizeof *g);
    g[m->n_gained++] = (Gained){ .pair = pair };
    *place = (uint32_t)m->n_gained;
}

/* Where the pair (x, merged) or (merged, x) is noted. */
static uint32_t *place_of(const Merger *m, uint32_t left, uint32_t right)
{
    return right == m->merged ? &m->before[left] : &m->after[right];
}

/* The merged symbol is not new: some of its pairs may be known. */
static void find_known_pairs(Merger *m)
{
    for (int64_t i = 0; i < m->pairs.n; i++) {
        const Pair *p = &pair_table_all(&m->pairs)[i];
        if (p->left == m->merged || p->right == m->merged)
            add_gained(m, place_of(m, p->left, p->right), (uint32_t)i);
    }
}

/* A pair made by a merge; it counts only when both parts together stay below the limit of length.
 */
static uint32_t gain(Merger *m, uint32_t word, uint32_t left, uint32_t right)
{
    uint32_t *place = place_of(m, left, right);
    if (!*place) add_gained(m, place, pair_table_add(&m->pairs, left, right));
    Gained *g = (Gained *)m->gained.ptr + (*place - 1);
    int64_t limit = m->settings->bpe.max_token_length;
    if (limit && m->length[left] + m->length[right] >= limit) return g->pair;
    pair_table_all(&m->pairs)[g->pair].count += m->symbols.word[word].count;
    g->n++;
    Gain *gains = buffer_grow(&m->gains, (size_t)(m->n_gains + 1) * sizeof *gains);
    gains[m->n_gains++] = (Gain){ *place - 1, word };
    return g->pair;
}

/* Merges the pair wherever it is in the word, from left to right. Symbols and pairs move to the
 * front: [0, n) is done, [i, len) is still to do, and pair[n - 1] is that of symbol[n - 1] and
 * symbol[i]. */
static void merge_word(Merger *m, uint32_t w, uint32_t merging)
{
    SymbolWord *word = &m->symbols.word[w];
    uint32_t *symbol = m->symbols.symbol + word->at, *pair = m->pair_at + word->at;
    uint32_t i = 0, n, len = word->len;
    while (i + 1 < len && pair[i] != merging) i++;
    for (n = i; i < len; n++) {
        if (i + 1 == len || pair[i] != merging) {
            symbol[n] = symbol[i];
            pair[n] = pair[i++];
            continue;
        }
        symbol[n] = m->merged;
        if (n) {
            pair_table_all(&m->pairs)[pair[n - 1]].count -= word->count;
            pair[n - 1] = gain(m, w, symbol[n - 1], m->merged);
        }
        if (i + 2 < len) {
            pair_table_all(&m->pairs)[pair[i + 1]].count -= word->count;
            pair[n] = gain(m, w, m->merged, symbol[i + 2]);
        }
        i += 2;
    }
    word->len = n;
}

/* Words lie all over the memory: they are asked for some steps ahead. */
static void merge_words(Merger *m, const PairEntry *e)
{
    enum { WORD_AHEAD = 12, SYMBOLS_AHEAD = 6 };
    const Symbols *s = &m->symbols;
    for (uint32_t i = 0; i < e->n_words; i++) {
        if (i + WORD_AHEAD < e->n_words) __builtin_prefetch(&s->word[e->words[i + WORD_AHEAD]]);
        if (i + SYMBOLS_AHEAD < e->n_words) {
            int64_t at = s->word[e->words[i + SYMBOLS_AHEAD]].at;
            __builtin_prefetch(&s->symbol[at], 1);
            __builtin_prefetch(&m->pair_at[at], 1);
        }
        merge_word(m, e->words[i], e->pair);
    }
}

/* Ends a step: pairs that gained words are queued with them, in rising order. */
static void queue_gains(Merger *m)
{
    Gained *gained = m->gained.ptr;
    const Gain *gains = m->gains.ptr;
    for (int64_t i = 0; i < m->n_gained; i++) {
        gained[i].words = take_room(m, gained[i].n);
        gained[i].n = 0;
    }
    for (int64_t i = 0; i < m->n_gains; i++) {
        Gained *g = &gained[gains[i].gained];
        if (!g->n || g->words[g->n - 1] != gains[i].word) g->words[g->n++] = gains[i].word;
    }
    for (int64_t i = 0; i < m->n_gained; i++) {
        const Pair *p = &pair_table_all(&m->pairs)[gained[i].pair];
        *place_of(m, p->left, p->right) = 0;
        push(m, gained[i].pair, gained[i].words, gained[i].n);
    }
    m->n_gained = m->n_gains = 0;
}

static bool starts_with(Str s, Str prefix)
{
    return s.len >= prefix.len && !memcmp(s.ptr, prefix.ptr, prefix.len);
}

/* The token that a merge makes: the prefix of its second part goes. */
static uint32_t merged_id(Merger *m)
{
    TokenNames *names = &m->out->names;
    Str left = names->name[m->left], right = names->name[m->right];
    Str prefix = str_of(m->settings->bpe.prefix ? m->settings->bpe.prefix : "");
    size_t skipped = starts_with(right, prefix) ? prefix.len : 0;
    Text name = { 0 };
    text_add(&name, left.ptr, left.len);
    text_add(&name, right.ptr + skipped, right.len - skipped);
    uint32_t id = token_names_id(names, (Str){ name.ptr, name.len });
    text_free(&name);
    return id;
}

static void merge_pair(Merger *m, const PairEntry *e)
{
    TrainedBpe *b = m->out;
    int64_t n_before = b->names.n;
    m->left = e->left;
    m->right = e->right;
    m->merged = merged_id(m);
    m->length[m->merged] = m->length[m->left] + m->length[m->right];
    if (b->names.n == n_before) find_known_pairs(m);
    b->merge = arena_grow(b->names.arena, b->merge, b->n_merges, &m->merge_cap, sizeof *b->merge);
    b->merge[b->n_merges][0] = e->left;
    b->merge[b->n_merges++][1] = e->right;
    merge_words(m, e);
    queue_gains(m);
}

/* ---- all steps ---- */

static Error *merge_until_full(Merger *m, TrainSummary *summary)
{
    const TrainSettings *s = m->settings;
    TokenNames *names = &m->out->names;
    int64_t first = names->n;
    PairEntry e;
    while (names->n < s->vocab_size && pair_queue_pop(&m->queue, &e)) {
        int64_t count = pair_table_all(&m->pairs)[e.pair].count;
        if (e.count != count) {
            e.count = count;
            pair_queue_push(&m->queue, e);
            continue;
        }
        if (count < 1 || count < s->bpe.min_frequency) break;
        merge_pair(m, &e);
        summary->min_count = count;
        if (m->out->n_merges % 256 == 0)
            TRY(train_step(s, "merging pairs", names->n - first, s->vocab_size - first));
    }
    return NULL;
}

static Error *train(Merger *m, const WordCounts *words, TrainSummary *summary)
{
    const BpeTrainSettings *s = &m->settings->bpe;
    TrainedBpe *b = m->out;
    b->special = NEW_N(b->names.arena, uint32_t, s->n_special_tokens);
    for (int64_t i = 0; i < s->n_special_tokens; i++)
        b->special[i] = token_names_id(&b->names, str_of(s->special_tokens[i]));
    train_symbols(m->work, s, words, &b->names, &m->symbols);
    if (b->names.n > m->settings->vocab_size) {
        return error_new(
            "vocab_size %lld is less than the %lld ids of special tokens and single characters",
            (long long)m->settings->vocab_size, (long long)b->names.n);
    }
    int64_t n_ids = m->settings->vocab_size;
    m->before = NEW_N(m->work, uint32_t, n_ids);
    m->after = NEW_N(m->work, uint32_t, n_ids);
    m->length = NEW_N(m->work, int64_t, n_ids);
    for (int64_t id = 0; id < b->names.n; id++) m->length[id] = 1;
    m->pair_at = NEW_N(m->work, uint32_t, m->symbols.n_symbols);
    count_pairs(m);
    queue_first_pairs(m);
    TRY(merge_until_full(m, summary));
    summary->n_ids = b->names.n;
    summary->n_merges = b->n_merges;
    return NULL;
}

Error *train_merges(Arena *a, const TrainSettings *s, const WordCounts *words, TrainedBpe *out,
                    TrainSummary *summary)
{
    *out = (TrainedBpe){ .names.arena = a };
    if (words->n > UINT32_MAX)
        return error_new("%lld different words are too many", (long long)words->n);
    Merger m = { .settings = s, .work = arena_new(), .out = out };
    pair_queue_start(&m.queue);
    Error *e = train(&m, words, summary);
    pair_table_free(&m.pairs);
    pair_queue_free(&m.queue);
    buffer_free(&m.gained);
    buffer_free(&m.gains);
    arena_free(m.work);
    return e;
}
