/* word_levels_fast.c - tight loops without a branch that depends on the text, so that many look-ups
 * are under way at once. */
#include "tokenizer/cache/word_levels.h"
#ifdef __BMI2__
#include <immintrin.h>
#endif

/* The first `len` bytes of eight; of a longer word, which does not count, any. */
static inline uint64_t first_bytes(uint64_t eight, uint32_t len)
{
#ifdef __BMI2__
    return _bzhi_u64(eight, len * 8);
#else
    return eight & word_low_mask[len < 8 ? len : 8];
#endif
}

#ifdef __AVX512F__
/* Appends the places of a mask to a list; returns its new length. */
static inline int64_t add_places(uint32_t *list, int64_t n, unsigned mask, __m512i place)
{
    _mm512_storeu_si512(list + n, _mm512_maskz_compress_epi32((__mmask16)mask, place));
    return n + __builtin_popcount(mask);
}

/* Writes down where the word is longer than 8 bytes or work[i] is not 0. */
static int64_t list_missed(const WordBatch *b, uint32_t *missed)
{
    __m512i place = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    int64_t n_missed = 0, n = b->n;
    for (int64_t i = 0; i < n; i += 16) {
        __m512i from = _mm512_loadu_si512(b->limit + i), to = _mm512_loadu_si512(b->limit + i + 1);
        __m512i low = _mm512_loadu_si512(b->work + i), high = _mm512_loadu_si512(b->work + i + 8);
        unsigned miss = _mm512_cmpgt_epu32_mask(_mm512_sub_epi32(to, from), _mm512_set1_epi32(8));
        miss |= _mm512_test_epi64_mask(low, low) | _mm512_test_epi64_mask(high, high) << 8;
        if (n - i < 16) miss &= (1u << (n - i)) - 1;
        n_missed = add_places(missed, n_missed, miss, place);
        place = _mm512_add_epi32(place, _mm512_set1_epi32(16));
    }
    return n_missed;
}

static int64_t look_up_small(const WordTables *t, const WordBatch *b, uint32_t *missed)
{
    const uint32_t *limit = b->limit;
    const char *text = b->text;
    PackedIds *packed = b->packed;
    uint64_t *work = b->work, from = limit[0];
    for (int64_t i = 0, n = b->n; i < n; i++) {
        uint64_t to = limit[i + 1];
        uint64_t key = first_bytes(word_load(text + from), (uint32_t)(to - from));
        const SmallEntry *e = word_small(t, key);
        packed[i] = e->ids;
        work[i] = key ^ e->key;
        from = to;
    }
    return list_missed(b, missed);
}

/* Writes the ids that lie inside of eight words, as many as `n` says of each. They are sixteen
 * pairs of lanes, two for each word; what would be the fourth of wide ids does not count. */
static inline __attribute__((always_inline)) uint32_t *write_eight(__m512i ids, __m512i n,
                                                                   int id_bits, uint32_t *out)
{
    const int64_t mask = (1 << id_bits) - 1;
    const __m512i even = _mm512_set1_epi64(mask), odd = _mm512_set1_epi64(mask << 32);
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
    const __m512i low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11),
                  high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    const __m512i low_n = _mm512_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6),
                  high_n =
                      _mm512_setr_epi32(8, 8, 8, 8, 10, 10, 10, 10, 12, 12, 12, 12, 14, 14, 14, 14);
    unsigned up = 32 - (unsigned)id_bits, down = 3 * (unsigned)id_bits - 32;
    __m512i front = _mm512_or_si512(_mm512_and_si512(ids, even),
                                    _mm512_and_si512(_mm512_slli_epi64(ids, up), odd));
    __m512i back =
        _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi64(ids, 2 * (unsigned)id_bits), even),
                        _mm512_and_si512(_mm512_srli_epi64(ids, down), odd));
    __mmask16 in_low = _mm512_cmplt_epi32_mask(lane, _mm512_permutexvar_epi32(low_n, n));
    __mmask16 in_high = _mm512_cmplt_epi32_mask(lane, _mm512_permutexvar_epi32(high_n, n));
    _mm512_storeu_si512(
        out, _mm512_maskz_compress_epi32(in_low, _mm512_permutex2var_epi64(front, low, back)));
    out += __builtin_popcount(in_low);
    _mm512_storeu_si512(
        out, _mm512_maskz_compress_epi32(in_high, _mm512_permutex2var_epi64(front, high, back)));
    return out + __builtin_popcount(in_high);
}

static int64_t list_others(const WordBatch *b, uint32_t *others)
{
    const __m512i least = _mm512_set1_epi64((int64_t)1 << 60);
    __m512i place = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    int64_t n_others = 0, n = b->n;
    for (int64_t i = 0; i < n; i += 16) {
        __m512i low = _mm512_loadu_si512(b->packed + i),
                high = _mm512_loadu_si512(b->packed + i + 8);
        unsigned other = _mm512_cmplt_epu64_mask(low, least);
        other |= (unsigned)_mm512_cmplt_epu64_mask(high, least) << 8;
        if (n - i < 16) other &= (1u << (n - i)) - 1;
        n_others = add_places(others, n_others, other, place);
        place = _mm512_add_epi32(place, _mm512_set1_epi32(16));
    }
    return n_others;
}

static inline __attribute__((always_inline)) uint32_t *
write_inside(const WordBatch *b, int id_bits, int64_t from, int64_t to, uint32_t *out)
{
    for (; to - from >= 8; from += 8) {
        __m512i ids = _mm512_loadu_si512(b->packed + from);
        out = write_eight(ids, _mm512_srli_epi64(ids, 60), id_bits, out);
    }
    if (from == to) return out;
    __m512i ids = _mm512_loadu_si512(b->packed + from);
    __mmask8 some = (__mmask8)((1u << (to - from)) - 1);
    return write_eight(ids, _mm512_maskz_srli_epi64(some, ids, 60), id_bits, out);
}
#else
static int64_t look_up_small(const WordTables *t, const WordBatch *b, uint32_t *missed)
{
    const uint32_t *limit = b->limit;
    int64_t n_missed = 0;
    for (int64_t i = 0, n = b->n; i < n; i++) {
        uint32_t from = limit[i], len = limit[i + 1] - from;
        uint64_t key = first_bytes(word_load(b->text + from), len);
        const SmallEntry *e = word_small(t, key);
        b->packed[i] = e->ids;
        missed[n_missed] = (uint32_t)i;
        n_missed += (key != e->key) | (len > 8);
    }
    return n_missed;
}

static int64_t list_others(const WordBatch *b, uint32_t *others)
{
    int64_t n_others = 0;
    for (int64_t i = 0; i < b->n; i++) {
        others[n_others] = (uint32_t)i;
        n_others += !(b->packed[i] >> 60);
    }
    return n_others;
}

/* Four ids are always written, and as many of them kept as there are. */
static inline __attribute__((always_inline)) uint32_t *
write_inside(const WordBatch *b, int id_bits, int64_t from, int64_t to, uint32_t *out)
{
    for (int64_t i = from; i < to; i++) {
        for (int k = 0; k < 4; k++) out[k] = packed_id(b->packed[i], id_bits, k);
        out += b->packed[i] >> 60;
    }
    return out;
}
#endif

static int64_t look_up_middle(const WordTables *t, const WordBatch *b, uint32_t *missed, int64_t n)
{
    const uint32_t *limit = b->limit;
    const char *text = b->text;
    PackedIds *packed = b->packed;
    uint64_t *noted = b->hash;
    int64_t n_missed = 0;
    for (int64_t j = 0; j < n; j++) {
        uint32_t i = missed[j], from = limit[i], len = limit[i + 1] - from;
        WordKey key = word_key(text + from, len < 16 ? len : 16);
        uint64_t hash = word_hash16(key);
        const MiddleEntry *e = word_middle(t, hash);
        packed[i] = e->ids;
        missed[n_missed] = i;
        noted[n_missed] = hash;
        n_missed += (((key.low ^ e->key.low) | (key.high ^ e->key.high)) != 0) | (len > 16);
    }
    return n_missed;
}

static int64_t look_up_large(WordTables *t, const WordBatch *b, uint32_t *missed, int64_t n,
                             bool counts)
{
    for (int64_t j = 0; j < n; j++) __builtin_prefetch(&t->large[word_large_place(t, b->hash[j])]);
    int64_t n_missed = 0;
    for (int64_t j = 0; j < n; j++) {
        uint32_t i = missed[j], from = b->limit[i], len = b->limit[i + 1] - from;
        uint64_t hash = b->hash[j];
        missed[n_missed] = i;
        b->hash[n_missed] = hash;
        if (len <= 16) {
            LargeEntry *e = word_tables_large(t, word_key(b->text + from, len), hash, len);
            b->packed[i] = e->ids;
            if (e->len) {
                if (counts) {
                    e->uses++;
                    word_tables_promote(t, e, hash);
                } else if (e->uses == 1) {
                    e->uses = 2;
                }
                continue;
            }
        }
        n_missed++;
    }
    return n_missed;
}

/* Of ids outside eight at a time are written, and as many kept as there are. Compiled for each
 * width of ids. */
static inline __attribute__((always_inline)) uint32_t *
write_all(const WordBatch *b, int id_bits, const uint32_t *more, WordPlace *place, uint32_t *to)
{
    for (;; place->other++) {
        bool is_last = place->other == b->n_others;
        int64_t next = is_last ? b->n : b->other[place->other];
        to = write_inside(b, id_bits, place->word, next, to);
        place->word = next;
        if (is_last || b->packed[next] & PASSING) return to;
        uint32_t at = (uint32_t)b->packed[next], n = (uint32_t)(b->packed[next] >> 32);
        for (uint32_t k = 0; k < n; k += MORE_ROOM)
            memcpy(to + k, more + at + k, MORE_ROOM * sizeof *more);
        to += n;
        place->word++;
    }
}

static uint32_t *write_ids(const WordTables *t, const WordBatch *b, WordPlace *place, uint32_t *to)
{
    const uint32_t *more = t ? word_tables_more(t) : NULL;
    return t && t->id_bits == NARROW_IDS ? write_all(b, NARROW_IDS, more, place, to)
                                         : write_all(b, WIDE_IDS, more, place, to);
}

const WordLevels TABLE = { look_up_small, look_up_middle, look_up_large, list_others, write_ids };
