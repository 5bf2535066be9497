/* test_documents.c - attention within documents: what follows another document in a sequence is as
 * if it stood alone. */
#include "components.h"
#include "exec/schedule.h"
#include "models/loss.h"
#include "test.h"
#include "train/evaluator.h"
#include "train/session.h"
#include <string.h>

static const char yaml[] =
    "model: {component_key: model, variant_key: gpt2, config: {sample_key: x, prediction_key: "
    "logits, poe_type: NOPE, sequence_length: 16, vocab_size: 32, n_layer: 2, n_head_q: 4, "
    "n_head_kv: 2, n_embd: 32, ffn_hidden: 64, dropout: 0.0, bias: true, seed: 1, "
    "attention_config: {qkv_transforms: [{type_hint: RotaryTransform, config: {n_embd: 32, n_head: "
    "4, seq_length_dim: -2, base_freq: 10000}}]}, attention_implementation: manual, "
    "activation_type: gelu, document_key: %s, "
    "attention_norm_config: {norm_type: rms_norm, config: {ndim: 32}}, "
    "ffn_norm_config: {norm_type: rms_norm, config: {ndim: 32}}, "
    "lm_head_norm_config: {norm_type: rms_norm, config: {ndim: 32}}}}\n";

enum { BEFORE = 6, OWN = 9, WHOLE = BEFORE + OWN };

/* The loss of the last OWN tokens of n, which are in document 1 when there are more. */
static Error *loss_of(const char *document_key, int64_t n, bool has_documents, double *out)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "model.yaml");
    const char *text = arena_printf(a, yaml, document_key);
    const Loss loss = { .target_key = "y", .tag = "loss" };
    Model *model;
    Session *s;
    Program *p;
    Batch b = { .arena = a };
    assert_no_error(file_write(path, text, strlen(text)));
    assert_no_error(
        component_from_file(a, path, (StringList){ 0 }, "model", "model", (void **)&model));
    assert_no_error(session_new(&(SessionSettings){ .model = model, .n_threads = 1 }, &s));
    assert_no_error(session_evaluation_program(s, &loss, 1, n, &p));
    assert_no_error(store_initialize(session_store(s), 1));
    int32_t *x = batch_item(&b, "x", I32, 2, (int64_t[]){ 1, n })->data;
    int32_t *y = batch_item(&b, "y", I32, 2, (int64_t[]){ 1, n })->data;
    int32_t *d = has_documents ? batch_item(&b, "d", I32, 2, (int64_t[]){ 1, n })->data : NULL;
    for (int64_t i = 0; i < n; i++) {
        int64_t place = i + WHOLE - n; /* in the longer sequence */
        x[i] = (int32_t)(place * 7 % 32);
        y[i] = place < BEFORE ? IGNORED_TARGET : (int32_t)((place + 1) * 7 % 32);
        if (d) d[i] = place >= BEFORE;
    }
    Error *e = program_feed(p, &b);
    if (!e) e = program_run(p, RUN_FORWARD, &(RunTime){ .loss_scale = 1 });
    if (!e) *out = program_scalar(p, "loss");
    session_free(s);
    arena_free(a);
    return e;
}

TEST(a_document_behind_another_one_is_as_if_it_stood_alone)
{
    double alone, behind, mixed;
    assert_no_error(loss_of("d", OWN, true, &alone));
    assert_no_error(loss_of("d", WHOLE, true, &behind));
    assert_no_error(loss_of("null", WHOLE, true, &mixed));
    assert_close(behind, alone, 1e-6);
    assert_true(mixed - alone > 1e-3 || alone - mixed > 1e-3);
}

TEST(a_batch_without_the_documents_that_a_model_needs_is_refused)
{
    double x;
    assert_error_has(loss_of("d", WHOLE, false, &x), "the batch has no 'd', which the model");
}
