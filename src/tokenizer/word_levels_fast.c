/* word_levels_fast.c - tight loops without a branch that depends on the text, so that many look-ups
 * are under way at once. */
#include "tokenizer/word_levels.h"
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
        _mm512_storeu_si512(missed + n_missed, _mm512_maskz_compress_epi32((__mmask16)miss, place));
        n_missed += __builtin_popcount(miss);
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

/* Eight words are sixteen pairs of lanes: two ids, one id and nothing. */
static int64_t write_inside(const WordBatch *b, int64_t from, uint32_t **to)
{
    const __m512i first = _mm512_set1_epi64(ID_MASK);
    const __m512i second = _mm512_set1_epi64((int64_t)ID_MASK << 32);
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
    const __m512i low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11),
                  high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    const __m512i low_n = _mm512_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6),
                  high_n =
                      _mm512_setr_epi32(8, 8, 8, 8, 10, 10, 10, 10, 12, 12, 12, 12, 14, 14, 14, 14);
    uint32_t *out = *to;
    int64_t i = from;
    for (; i + 8 <= b->n; i += 8) {
        __m512i ids = _mm512_loadu_si512(b->packed + i), n = _mm512_srli_epi64(ids, 60);
        if (_mm512_testn_epi64_mask(n, n)) break;
        __m512i two =
            _mm512_or_si512(_mm512_and_si512(ids, first),
                            _mm512_and_si512(_mm512_slli_epi64(ids, 32 - ID_BITS), second));
        __m512i one = _mm512_and_si512(_mm512_srli_epi64(ids, 2 * ID_BITS), first);
        __mmask16 in_low = _mm512_cmplt_epi32_mask(lane, _mm512_permutexvar_epi32(low_n, n));
        __mmask16 in_high = _mm512_cmplt_epi32_mask(lane, _mm512_permutexvar_epi32(high_n, n));
        _mm512_storeu_si512(
            out, _mm512_maskz_compress_epi32(in_low, _mm512_permutex2var_epi64(two, low, one)));
        out += __builtin_popcount(in_low);
        _mm512_storeu_si512(
            out, _mm512_maskz_compress_epi32(in_high, _mm512_permutex2var_epi64(two, high, one)));
        out += __builtin_popcount(in_high);
    }
    *to = out;
    return i;
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

static int64_t write_inside(const WordBatch *b, int64_t from, uint32_t **to)
{
    (void)b, (void)to;
    return from;
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

/* Three ids, or eight at a time of those outside, are always written, and as many of them kept as
 * there are. */
static int64_t write_ids(const WordBatch *b, const uint32_t *more, int64_t from, uint32_t **to)
{
    for (int64_t i = from;;) {
        i = write_inside(b, i, to);
        uint32_t *out = *to;
        for (int64_t end = i + 8 < b->n ? i + 8 : b->n; i < end; i++) {
            PackedIds ids = b->packed[i];
            uint32_t n = (uint32_t)(ids >> 60);
            if (__builtin_expect(n > 0, 1)) {
                out[0] = (uint32_t)ids & ID_MASK;
                out[1] = (uint32_t)(ids >> ID_BITS) & ID_MASK;
                out[2] = (uint32_t)(ids >> 2 * ID_BITS) & ID_MASK;
            } else {
                if (ids & PASSING) break;
                n = (uint32_t)(ids >> 32);
                for (uint32_t k = 0; k < n; k += MORE_ROOM)
                    memcpy(out + k, more + (uint32_t)ids + k, MORE_ROOM * sizeof *out);
            }
            out += n;
        }
        *to = out;
        if (i == b->n || (b->packed[i] & PASSING && !(b->packed[i] >> 60))) return i;
    }
}

const WordLevels TABLE = { look_up_small, look_up_middle, look_up_large, write_ids };
