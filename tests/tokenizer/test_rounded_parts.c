/* test_rounded_parts.c - what is remembered of parts equals what the lattice says, also when the
 * memory is used up again and again. */
#include "base/rng.h"
#include "test.h"
#include "tokenizer/golden_tokenizers.h"
#include "tokenizer/sentencepiece/encoder.h"
#include "tokenizer/sentencepiece/rounded_parts.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum {
    N_PARTS = 2500,
    N_OFTEN = 250,
    N_CALLS = 50000,
    AHEAD = 8, /* parts that are asked for before the first of them is needed */
    MOST_BYTES = 600,
    SLACK = 16,
    N_BOUNDS = 4
};

/* Forgets always, often, seldom, never. */
static const size_t bounds[N_BOUNDS] = { 1 << 10, 1 << 17, 1 << 20, 0 };

typedef struct Parts {
    const SpModel *model;
    Text text;
    size_t from[N_PARTS + 1];
} Parts;

/* Pieces, with letters, blanks and zero bytes up to `bytes`, and few characters that are no piece.
 */
static void add_pieces(const SpModel *m, uint64_t key, size_t bytes, Text *out)
{
    size_t end = out->len + bytes;
    for (uint64_t i = 0; out->len < end; i++) {
        uint64_t bits = rng_bits(key, i), room = end - out->len;
        Str name = m->name[bits % (uint64_t)m->file->n];
        if (bits >> 59 == 0 && room >= 3)
            text_puts(out, "\uA015");
        else if (bits >> 60 && name.len <= room)
            text_add(out, name.ptr, name.len);
        else
            text_add(out, &" aeinrs"[bits >> 32 & 7], 1);
    }
}

/* Runs of blanks, whose pieces tie in any order; long beginnings that many parts share; parts that
 * are too long to be remembered. */
static void draw_parts(const SpModel *m, Parts *p)
{
    p->model = m;
    for (uint64_t i = 0; i < N_PARTS; i++) {
        p->from[i] = p->text.len;
        uint64_t key = rng_key(7, RNG_DATA, i, 0), bits = rng_bits(key, 1000);
        size_t bytes = 1 + (bits >> 8) % (bits >> 32 & 7 ? 30 : MOST_BYTES);
        if (bits % 3 == 0)
            for (uint64_t n = bits >> 40 & 31; n && bytes > 1; n--, bytes--)
                text_puts(&p->text, " ");
        if (bits % 3 == 1)
            add_pieces(m, rng_key(7, RNG_DATA, bits >> 44 & 3, 1), bits >> 46 & 1 ? 14 : 37,
                       &p->text);
        add_pieces(m, key, bits % 3 == 1 ? 1 + bytes % 4 : bytes, &p->text);
    }
    p->from[N_PARTS] = p->text.len;
    for (int i = 0; i < SLACK; i++) text_puts(&p->text, "x");
}

static Str part_at(const Parts *p, int64_t i)
{
    return (Str){ p->text.ptr + p->from[i], p->from[i + 1] - p->from[i] };
}

/* Mostly negative ones: anywhere between two powers of two, close to one, close to the floor. */
static float draw_sum(uint64_t bits)
{
    float power = ldexpf(1, (int)(bits % 19) - 1), units = (float)(bits >> 8 & 15) - 8;
    switch (bits >> 12 & 15) {
    case 0:
        return 0;
    case 1:
        return power * (1 + (float)(bits >> 16 & 0xFFFF) / 0x10000);
    case 2:
        return -power + units * power * FLT_EPSILON;
    case 3:
        return (float)LATTICE_FLOOR + units * 8;
    case 4:
        return -power - 2 * units;
    default:
        return -power * (1 + (float)(bits >> 16 & 0xFFFFFF) / 0x1000000);
    }
}

static float compute(const SpModel *m, Buffer *work, Str part, float sum, uint32_t **out)
{
    uint32_t symbol[MOST_BYTES + SLACK * 4];
    Way way = lattice_best(&m->lattice, work, part, sum);
    *out += sp_model_ids(m, part, symbol, sp_way_symbols(m, &way, symbol), *out);
    return (float)way.sum;
}

/* A small number of parts is needed often. */
static int64_t draw_part(uint64_t bits)
{
    return (int64_t)((bits >> 32) % (bits & 1 ? N_OFTEN : N_PARTS));
}

static void compare(const Parts *p, RoundedParts *r, const char *what)
{
    uint64_t key = rng_key(11, RNG_DATA, 0, 0), hash[AHEAD];
    Buffer work = { 0 };
    static uint32_t expected[MOST_BYTES * 4], id[MOST_BYTES * 4];
    for (uint64_t i = 0; i < N_CALLS; i++) {
        for (uint64_t k = 0; k < AHEAD && i % AHEAD == 0; k++)
            hash[k] = rounded_parts_ask(r, part_at(p, draw_part(rng_bits(key, 2 * (i + k)))));
        Str part = part_at(p, draw_part(rng_bits(key, 2 * i)));
        float sum = draw_sum(rng_bits(key, 2 * i + 1));
        uint32_t *end[2] = { expected, id };
        float after = compute(p->model, &work, part, sum, &end[0]);
        float remembered = rounded_parts_encode(r, part, hash[i % AHEAD], sum, &end[1]);
        if (after == remembered && end[0] - expected == end[1] - id &&
            !memcmp(expected, id, (size_t)(end[0] - expected) * sizeof *id))
            continue;
        fail_msg("%s: call %d, \"%.*s\" after %a: %a, expected %a", what, (int)i, (int)part.len,
                 part.ptr, (double)sum, (double)remembered, (double)after);
    }
    buffer_free(&work);
}

static void compare_model(const SpModel *m, const char *name)
{
    Arena *a = arena_new();
    Parts *p = NEW(a, Parts);
    draw_parts(m, p);
    for (int i = 0; i < N_BOUNDS; i++)
        compare(p, rounded_parts_new(a, m, bounds[i]),
                arena_printf(a, "%s with %zu bytes", name, bounds[i]));
    text_free(&p->text);
    arena_free(a);
}

static void compare_golden(const char *name)
{
    Arena *a = arena_new();
    Tokenizer *t = golden_tokenizer(a, name);
    compare_model(((SentencePiece *)t)->model, name);
    t->close(t);
    arena_free(a);
}

TEST(rounded_parts_equal_the_lattice)
{
    compare_golden("sp/modalities_unigram");
}

TEST(rounded_parts_equal_the_lattice_with_rules)
{
    compare_golden("sp/spm_test_unigram_1k");
}

/* Every byte counts `byte` but for eighths of `noise`, so ways of any number of pieces are about
 * as good. `file` must stay. */
static SpModel *nearly_tied(Arena *a, const Tokenizer *t, float byte, float noise, SpFile *file)
{
    *file = ((const SentencePiece *)t)->file;
    file->score = NEW_N(a, float, file->n);
    for (int64_t i = 0; i < file->n; i++) {
        float eighths = (float)(rng_bits(rng_key(13, RNG_DATA, 0, 0), (uint64_t)i) >> 61);
        file->score[i] = byte * (float)file->name[i].len - eighths * noise / 8;
    }
    SpModel *m;
    assert_no_error(sp_model_new(a, file, &m));
    return m;
}

TEST(rounded_parts_equal_the_lattice_where_all_ways_nearly_tie)
{
    Arena *a = arena_new();
    Tokenizer *t = golden_tokenizer(a, "sp/modalities_unigram");
    SpFile f;
    compare_model(nearly_tied(a, t, -1.3f, 0x1p-7f, &f), "near ties");
    compare_model(nearly_tied(a, t, 0.3f, 0x1p-7f, &f), "near ties of sums that rise");
    t->close(t);
    arena_free(a);
}

/* Whether sums before a part change its best way. */
static bool depends_on_sum(const Lattice *l, Buffer *work, Str part, uint64_t key)
{
    Way way = lattice_margin(l, work, part, 0);
    uint32_t id[MOST_BYTES];
    int64_t n = way.n;
    for (int64_t i = 0; i < n; i++) id[i] = way.step[i].id;
    for (uint64_t k = 0; k < 16; k++) {
        double part_of_floor = (double)(rng_bits(key, k) >> 40) / (1 << 24);
        way =
            lattice_best(l, work, part, (float)((LATTICE_FLOOR + 20 * MOST_BYTES) * part_of_floor));
        if (way.n != n) return true;
        for (int64_t i = 0; i < n; i++)
            if (way.step[i].id != id[i]) return true;
    }
    return false;
}

/* Sums above LATTICE_FLOOR are multiples of 2^-7 or less. */
TEST(a_best_way_with_a_margin_is_best_behind_any_sum)
{
    Arena *a = arena_new();
    Tokenizer *t = golden_tokenizer(a, "sp/modalities_unigram");
    SpFile f;
    const SpModel *m = nearly_tied(a, t, -1.3f, 0x1p-4f, &f);
    Parts *p = NEW(a, Parts);
    draw_parts(m, p);
    Buffer work = { 0 };
    int64_t n_certain = 0, n_others = 0;
    for (int64_t i = 0; i < N_PARTS; i++) {
        Str part = part_at(p, i);
        bool certain = lattice_margin(&m->lattice, &work, part, 0x1p-8).margin > 0;
        bool depends = depends_on_sum(&m->lattice, &work, part, (uint64_t)i);
        if (certain && depends) fail_msg("\"%.*s\" depends", (int)part.len, part.ptr);
        n_certain += certain;
        n_others += depends;
    }
    assert_true(n_certain > N_PARTS / 10 && n_others > N_PARTS / 10);
    buffer_free(&work);
    text_free(&p->text);
    t->close(t);
    arena_free(a);
}
