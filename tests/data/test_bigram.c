/* test_bigram.c - the bigram baseline against values worked out by hand, and as a distribution. */
#include "data/bigram.h"
#include "data/packed_file.h"
#include "test.h"
#include <math.h>
#include <stdlib.h>

/* A file of one document with these ids. */
static Pbin packed(Arena *a, const char *name, const uint32_t *id, int64_t n)
{
    const char *path = path_join(a, test_folder(), name);
    Text bytes = { 0 };
    PbinWriter w;
    Pbin p;
    assert_no_error(pbin_create(path, 2, &w));
    assert_no_error(pbin_encode(id, n, 2, &bytes));
    assert_no_error(pbin_add(&w, bytes.ptr, bytes.len));
    assert_no_error(pbin_commit(&w));
    assert_no_error(pbin_open(a, path, &p));
    text_free(&bytes);
    return p;
}

/* Pairs 01 twice; 12, 20 and 13 once. */
static const uint32_t text[] = { 0, 1, 2, 0, 1, 3 };

static double loss_of(Arena *a, const uint32_t *id, int64_t n)
{
    Pbin train = packed(a, "train.pbin", text, 6), validation = packed(a, "val.pbin", id, n);
    BigramLoss loss;
    assert_no_error(bigram_loss(&train, &validation, &loss));
    assert_int_equal(loss.n_predicted, n - 1);
    assert_int_equal(loss.vocab_size, 4);
    return loss.nats;
}

TEST(bigram_loss_is_kneser_ney_by_hand)
{
    Arena *a = arena_new();
    double d = 3.0 / (3 + 2 * 1), total = 4 + 0.5 * 4;
    double q1 = 1.5 / total, q3 = 1.5 / total;
    double p01 = (2 - d + d * 1 * q1) / 2, p13 = (1 - d + d * 2 * q3) / 2, p33 = q3;
    assert_close(loss_of(a, (uint32_t[]){ 0, 1 }, 2), -log(p01), 1e-12);
    assert_close(loss_of(a, (uint32_t[]){ 0, 1, 3 }, 3), -(log(p01) + log(p13)) / 2, 1e-12);
    assert_close(loss_of(a, (uint32_t[]){ 3, 3 }, 2), -log(p33), 1e-12); /* 3 has no successor */
    arena_free(a);
}

TEST(bigram_probabilities_of_all_successors_add_up_to_one)
{
    Arena *a = arena_new();
    for (uint32_t previous = 0; previous < 4; previous++) {
        double sum = 0;
        for (uint32_t next = 0; next < 4; next++) {
            /* the id 3 appears so that both files always have the same vocabulary */
            double with = 2 * loss_of(a, (uint32_t[]){ 3, previous, next }, 3);
            sum += exp(-(with - loss_of(a, (uint32_t[]){ 3, previous }, 2)));
        }
        assert_close(sum, 1, 1e-9);
    }
    arena_free(a);
}

TEST(bigram_loss_needs_two_tokens)
{
    Arena *a = arena_new();
    Pbin train = packed(a, "train.pbin", text, 6), one = packed(a, "one.pbin", text, 1);
    BigramLoss loss;
    assert_error_has(bigram_loss(&train, &one, &loss), "one.pbin holds 1 tokens");
    assert_error_has(bigram_loss(&one, &train, &loss), "one.pbin holds 1 tokens");
    arena_free(a);
}
