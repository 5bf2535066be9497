/* test_collators.c - loss masking and the collator of images and texts. */
#include "components.h"
#include "config/builder.h"
#include "config/config.h"
#include "data/collators.h"
#include "data/toy_tokenizer.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

/* Rows of token ids, "5 0 7|1 2 3", as samples. */
static int64_t samples_of(Arena *a, const char *rows, Sample *out)
{
    int64_t n = 0;
    char *rest = arena_string(a, rows), *row, *word;
    while ((row = strsep(&rest, "|"))) {
        int32_t *id = NEW_N(a, int32_t, strlen(row) + 1);
        int64_t size = 0;
        while ((word = strsep(&row, " "))) id[size++] = (int32_t)strtol(word, NULL, 10);
        Tensor t = { .data = id, .dtype = I32, .n_dims = 1, .size = { size } };
        out[n++] = (Sample){ .n = 1, .item = { { "x", t } } };
    }
    return n;
}

/* The targets of the rows with begin token 0 and end token 1; a dot where nothing is learnt. */
static Error *mask(Arena *a, const char *rows, bool as_original, const char **out)
{
    static const char *const key[] = { "y" };
    Sample sample[8];
    int64_t n = samples_of(a, rows, sample);
    Batch batch = { .arena = a };
    MaskLoss m = { .wrapped = gpt2_collator_new(a, "x", "y"),
                   .target_key = key,
                   .n_keys = 1,
                   .begin = 0,
                   .end = 1,
                   .ignore = IGNORED_TARGET,
                   .as_original = as_original };
    Collator *c = mask_loss_collator_new(a, &m);
    TRY(c->collate(c, sample, n, &batch));
    const Tensor *y = batch_find(&batch, "y");
    Text t = { 0 };
    for (int64_t i = 0; i < tensor_count(y); i++) {
        int32_t id = ((int32_t *)y->data)[i];
        if (i) text_putc(&t, i % y->size[1] ? ' ' : '|');
        if (id == IGNORED_TARGET)
            text_putc(&t, '.');
        else
            text_printf(&t, "%d", id);
    }
    *out = arena_string(a, t.ptr);
    text_free(&t);
    return NULL;
}

static void assert_masked(const char *rows, bool as_original, const char *expected)
{
    Arena *a = arena_new();
    const char *got;
    assert_no_error(mask(a, rows, as_original, &got));
    assert_string_equal(got, expected);
    arena_free(a);
}

static void assert_refused(const char *rows, bool as_original, const char *expected)
{
    Arena *a = arena_new();
    const char *got;
    assert_error_has(mask(a, rows, as_original, &got), expected);
    arena_free(a);
}

TEST(only_what_lies_between_the_tokens_is_learnt)
{
    /* the example of the original's tests; the first token of a row is no target */
    const char *rows = "5 5 0 5 5 1 5 0 5 1 0 1 5 0 1";
    for (int as_original = 0; as_original < 2; as_original++) {
        assert_masked(rows, as_original, ". . 5 5 . . . 5 . . . . . .");
        assert_masked("9 0 6 7|9 0 1 8", as_original, ". 6 7|. . .");
        assert_refused("9 0 6 0|9 0 1 8", as_original,
                       "'y', row 0, place 2: a begin token 0 inside of a span");
        assert_refused("9 0 6 6|9 0 1 1", as_original,
                       "'y', row 1, place 2: an end token 1 where no span is open");
    }
}

TEST(a_row_that_begins_or_ends_inside_of_a_span_keeps_it)
{
    assert_masked("9 7 8 1 5 0 6", false, "7 8 . . . 6");
    assert_masked("0 7 8 1 5 5 6", false, "7 8 . . . .");
    assert_masked("9 7 8 2|9 0 3 4", false, ". . .|. 3 4");
    assert_masked("9 7 8 2", false, ". . .");
    assert_refused("9 7 1 8|9 0 3 1", true, "an end token 1 where no span is open");
    assert_masked("9 7 8 2|9 0 3 4", true, ". . .|. . .");
}

static Error *build(Arena *a, const char *yaml, Collator **out)
{
    const char *path = path_join(a, test_folder(), "collator.yaml");
    assert_no_error(file_write(path, yaml, strlen(yaml)));
    return component_from_file(a, path, (StringList){ 0 }, "c", "collate_fn", (void **)out);
}

static const char coca[] =
    "c: {component_key: collate_fn, variant_key: coca_collator, config: {sample_keys: [image, x], "
    "target_keys: [%s], text_sample_key: %s, text_target_key: y}}\n";

TEST(the_collator_of_images_and_texts_shifts_the_text_alone)
{
    Arena *a = arena_new();
    Collator *c;
    Sample sample[2];
    Batch batch = { .arena = a };
    float pixel[] = { 1, 2, 3, 4 };
    assert_no_error(build(a, arena_printf(a, coca, "label", "x"), &c));
    assert_int_equal(samples_of(a, "5 6 7|8 9 10", sample), 2);
    for (int i = 0; i < 2; i++) {
        Tensor image = { .data = pixel + 2 * i, .dtype = F32, .n_dims = 1, .size = { 2 } };
        sample[i].item[1] = (Item){ "image", image };
        sample[i].item[2] = (Item){ "label", image };
        sample[i].n = 3;
    }
    assert_no_error(c->collate(c, sample, 2, &batch));
    assert_int_equal(batch.n, 4);
    const int32_t x[] = { 5, 6, 8, 9 }, y[] = { 6, 7, 9, 10 };
    assert_memory_equal(batch_find(&batch, "x")->data, x, sizeof x);
    assert_memory_equal(batch_find(&batch, "y")->data, y, sizeof y);
    assert_memory_equal(batch_find(&batch, "image")->data, pixel, sizeof pixel);
    assert_memory_equal(batch_find(&batch, "label")->data, pixel, sizeof pixel);
    assert_error_has(build(a, arena_printf(a, coca, "y", "x"), &c),
                     "'y' would be in a batch twice");
    assert_error_has(build(a, arena_printf(a, coca, "", "z"), &c),
                     "text_sample_key 'z' is not among sample_keys");
    arena_free(a);
}

static const char masking[] =
    "c: {component_key: collate_fn, variant_key: mask_loss_collator_wrapper, config: {"
    "wrapped_collate_fn: {component_key: collate_fn, variant_key: gpt_2_llm_collator, config: "
    "{sample_key: x, target_key: y}}, target_keys_to_mask: [y], loss_ignore_index: %d, "
    "mask_tokens: {b_include_to_loss_token: \"%s\", e_include_to_loss_token: \"%s\"}, tokenizer: "
    "{component_key: tokenizer, variant_key: pretrained_hf_tokenizer, config: "
    "{pretrained_model_name_or_path: %s}}}}\n";

TEST(the_masking_collator_takes_tokens_by_name)
{
    Arena *a = arena_new();
    Collator *c;
    Sample sample[1];
    Batch batch = { .arena = a };
    const char *gpt2 = shared_path(a, "data/tokenizers/gpt2");
    assert_no_error(build(a, arena_printf(a, masking, -100, "^", "$", gpt2), &c));
    assert_int_equal(samples_of(a, "1 61 2 3 3 4", sample), 1); /* ^ is 61, $ is 3 */
    assert_error_has(c->collate(c, sample, 1, &batch), "an end token 3 where no span is open");
    assert_error_has(build(a, arena_printf(a, masking, -1, "^", "$", gpt2), &c),
                     "loss_ignore_index is -1, but losses ignore -100 only");
    assert_error_has(build(a, arena_printf(a, masking, -100, "^", "^", gpt2), &c), "are both '^'");
    assert_error_has(build(a, arena_printf(a, masking, -100, "^", "<none>", gpt2), &c),
                     "e_include_to_loss_token '<none>' is no token of the tokenizer");
    arena_free(a);
}

static const char documents[] =
    "c: {component_key: collate_fn, variant_key: document_collator_wrapper, config: {"
    "wrapped_collate_fn: {component_key: collate_fn, variant_key: gpt_2_llm_collator, config: "
    "{sample_key: x, target_key: y}}, sample_key: %s, document_key: %s, eod_token: \"%s\", "
    "tokenizer: {component_key: tokenizer, variant_key: pretrained_hf_tokenizer, config: "
    "{pretrained_model_name_or_path: %s}}}}\n";

TEST(documents_of_a_batch_are_numbered_behind_each_eod)
{
    Arena *a = arena_new();
    Collator *c;
    Sample sample[2];
    Batch batch = { .arena = a };
    const char *gpt2 = shared_path(a, "data/tokenizers/gpt2"), *eod = "<|endoftext|>";
    assert_no_error(build(a, arena_printf(a, documents, "x", "d", eod, gpt2), &c));
    assert_int_equal(samples_of(a, "1 50256 2 3 50256 50256 4 5|50256 1 1 1 1 1 1 50256", sample),
                     2);
    assert_no_error(c->collate(c, sample, 2, &batch));
    const int32_t expected[] = { 0, 0, 1, 1, 1, 2, 3, 0, 1, 1, 1, 1, 1, 1 };
    assert_int_equal(batch_find(&batch, "d")->dtype, I32);
    assert_memory_equal(batch_find(&batch, "d")->data, expected, sizeof expected);
    batch_clear(&batch);
    assert_no_error(build(a, arena_printf(a, documents, "z", "d", eod, gpt2), &c));
    assert_error_has(c->collate(c, sample, 2, &batch), "the batch has no 'z' to find documents in");
    batch_clear(&batch);
    assert_no_error(build(a, arena_printf(a, documents, "x", "y", eod, gpt2), &c));
    assert_error_has(c->collate(c, sample, 2, &batch), "the batch has a 'y' already");
    assert_error_has(build(a, arena_printf(a, documents, "x", "x", eod, gpt2), &c), "are both 'x'");
    assert_error_has(build(a, arena_printf(a, documents, "x", "d", "<none>", gpt2), &c),
                     "eod_token '<none>' is no token");
    arena_free(a);
}
