/* test_sentencepiece_cut.c - user-defined symbols stay whole wherever a text might be cut. */
#include "base/rng.h"
#include "test.h"
#include "tokenizer/golden_tokenizers.h"
#include "tokenizer/sentencepiece/encoder.h"

enum { N_TEXTS = 30, TEXT_BYTES = 20000 };

/* Symbols, what starts and ends like them, words, and blanks. */
static void draw_text(const SpFile *f, uint64_t seed, Text *out)
{
    static const char *const parts[] = {
        "<",  "<s",    "</s>>", "placeholder_tok_1>", "tok_", "_", "<pad", "the", " word", " ",
        "\n", "<eod>", "e>",    "<placeholder_tok_"
    };
    uint64_t key = rng_key(41, RNG_DATA, seed, 0), i = 0;
    text_clear(out);
    while (out->len < TEXT_BYTES) {
        uint64_t bits = rng_bits(key, i++);
        Str name = f->name[(bits >> 32) % (uint64_t)f->n];
        if (bits % 3)
            text_puts(out, parts[(bits >> 8) % (sizeof parts / sizeof *parts)]);
        else if (f->type[(bits >> 32) % (uint64_t)f->n] == SP_USER_DEFINED || bits % 2)
            text_add(out, name.ptr, name.len);
        else
            text_printf(out, "<placeholder_tok_%d>", (int)(bits >> 32 & 255));
    }
}

static void compare(const char *name)
{
    Arena *a = arena_new();
    SpOptions options = { .plain = true };
    Tokenizer *fast = golden_tokenizer(a, name), *plain;
    assert_no_error(sentencepiece_open(golden_tokenizer_path(a, name), &options, &plain));
    ((SentencePiece *)plain)->model->bpe.walk = NULL;
    Encoder *e[] = { sp_encoder_new(fast), sp_encoder_new(plain) };
    Ids ids[2] = { { 0 } };
    Text text = { 0 };
    for (uint64_t seed = 0; seed < N_TEXTS; seed++) {
        draw_text(&((SentencePiece *)fast)->file, seed, &text);
        for (int k = 0; k < 2; k++) {
            ids[k].n = 0;
            assert_no_error(sp_encoder_encode(e[k], (Str){ text.ptr, text.len }, false, &ids[k]));
        }
        assert_int_equal(ids[0].n, ids[1].n);
        assert_memory_equal(ids[0].id, ids[1].id, (size_t)ids[0].n * sizeof(uint32_t));
    }
    text_free(&text);
    for (int k = 0; k < 2; k++) ids_free(&ids[k]);
    fast->encoder_free(e[0]);
    plain->encoder_free(e[1]);
    fast->close(fast);
    plain->close(plain);
    arena_free(a);
}

TEST(user_defined_symbols_of_bpe_are_not_cut)
{
    compare("sp/dclm_en_32k");
}

TEST(user_defined_symbols_of_unigram_are_not_cut)
{
    compare("sp/modalities_unigram");
}
