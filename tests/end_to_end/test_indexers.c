/* test_indexers.c - trainings of indexers of sparse attention: beside the model, alone in front of
 * dense attention, and those of a folder. */
#include "cli/command_line.h"
#include "end_to_end/training.h"
#include <stdlib.h>
#include <string.h>

#define SET "--set"
#define NAME "train loss of indexers"
#define DECODER_WITH(top_k, weight, more)                                                          \
    "{component_key: model, variant_key: decoder, config: {sample_key: input_ids, "                \
    "prediction_key: logits, vocab_size: 64, sequence_length: 64, n_layer: 2, n_embd: 32, "        \
    "n_head_q: 4, n_head_kv: 4, ffn_hidden: 24, norm: {eps: 1e-6}, rope: {base: 10000.0}, "        \
    "latent: {key_rank: 8, query_rank: 8, rope_width: 4, value_width: 8}, sparse_attention: "      \
    "{heads: 4, width: 8, top_k: " top_k ", index_loss: " weight "}" more "}}"
#define DECODER(top_k, weight) DECODER_WITH(top_k, weight, "")
/* As the class has it. */
#define EXPORTED                                                                                   \
    DECODER_WITH("6", "1.0",                                                                       \
                 ", layers: [{sparse: true}], mixture: {n_experts: 4, top_k: 2, hidden: 8, "       \
                 "shared_hidden: 8, score: sigmoid, balance_rate: 0.001}")
#define BLOCKS SET, "wrapped_model.config.block_names=[DecoderBlock]"
#define MODEL(top_k, weight) SET, "model_raw=" DECODER(top_k, weight), BLOCKS

/* Those of the run's results. */
static int numbers_of(const Bench *b, const char *id, double *number, int most)
{
    static const char key[] = "\"" NAME "\": ";
    Str text;
    int n = 0;
    const char *path = arena_printf(b->arena, "%s/%s/evaluation_results.jsonl", b->root, id);
    assert_no_error(file_read(b->arena, path, &text));
    for (const char *at = text.ptr; n < most && (at = strstr(at, key)); at++)
        number[n++] = atof(at + strlen(key));
    return n;
}

TEST(a_training_of_indexers_tells_their_loss_and_goes_on)
{
    Bench b = bench_new();
    const Outcome o =
        bench_run(&b, "whole", NULL, (const char *[]){ MODEL("6", "1.0"), NULL }, NULL);
    assert_ended_well(o);
    assert_contains(o.text, " | " NAME ": ");
    assert_ended_well(bench_run(&b, "half", NULL,
                                (const char *[]){ MODEL("6", "1.0"), SET,
                                                  "settings.training_target.num_target_steps=4",
                                                  SET, "lr_scheduler.config.total_steps=8", NULL },
                                NULL));
    assert_goes_on_as(&b, "half", "whole");
    assert_ended_well(bench_run(&b, "two", NULL,
                                (const char *[]){ "--ranks", "2", MODEL("6", "1.0"), NULL }, NULL));
    assert_results_near(&b, "two", "whole", NAME, 0.5);
    const Outcome none =
        bench_run(&b, "none", NULL, (const char *[]){ MODEL("6", "0.0"), NULL }, NULL);
    assert_ended_well(none);
    assert_null(strstr(none.text, NAME));
    arena_free(b.arena);
}

/* Kept configurations from before there was index_loss, whose default is another one. */
TEST(a_training_whose_indexers_were_not_trained_is_told_how_to_go_on)
{
    Bench b = bench_new();
    const char *const half[] = { MODEL("6", "0.0"),
                                 SET,
                                 "settings.training_target.num_target_steps=4",
                                 SET,
                                 "lr_scheduler.config.total_steps=8",
                                 NULL };
    assert_ended_well(bench_run(&b, "half", NULL, half, NULL));
    assert_ended_well(
        bench_run(&b, "whole", NULL, (const char *[]){ MODEL("6", "0.0"), NULL }, NULL));
    const char *older = arena_printf(b.arena,
                                     "sed -i /index_loss/d '%s'/half/kept_config.yaml "
                                     "'%s'/half/checkpoints/*/kept_config.yaml",
                                     b.root, b.root),
               *output;
    assert_int_equal(shell_run(b.arena, older, &output), 0);
    const char *words[] = { "resume", path_join(b.arena, b.root, "half"),
                            SET,      "settings.training_target.num_target_steps=8",
                            NULL,     "model_raw.config.sparse_attention.index_loss=0.0",
                            NULL };
    assert_refused(command_output(b.arena, words, NULL), 1,
                   "10 parameters were not trained when this was saved, but are now; of indexers "
                   "(attn.index_*) `index_loss: 0.0` in sparse_attention of the model leaves them "
                   "so: its default, 1.0, trains them");
    words[4] = SET;
    assert_ended_well(command_output(b.arena, words, NULL));
    assert_same_state(&b, "half", "whole");
    arena_free(b.arena);
}

/* The warm-up: attention to all tokens, and nothing else learns. */
TEST(indexers_alone_come_near_to_dense_attention)
{
    enum { MOST = 64 };
    double loss[MOST];
    Bench b = bench_new();
    assert_ended_well(bench_run(
        &b, "alone", NULL,
        (const char *[]){ MODEL("64", "1.0"), SET, "optimizer.config.lr=0.01", SET,
                          "optimizer.config.weight_decay_groups_excluded=[]", SET,
                          "initialized_model.config.model={component_key: model, variant_key: "
                          "frozen, config: {model: {instance_key: wrapped_model, pass_type: "
                          "BY_REFERENCE}, parameters: [\"*\"], except: [\"*.index_*\"]}}",
                          NULL },
        NULL));
    const int n = numbers_of(&b, "alone", loss, MOST);
    assert_true(n >= 4);
    if (!(loss[n - 1] < 0.7 * loss[0]))
        fail_msg("from %g their loss fell to %g alone", loss[0], loss[n - 1]);
    arena_free(b.arena);
}

/* A folder's model, whose indexers learn by this weight. */
static const char *model_of(const Bench *b, const char *weight)
{
    return arena_printf(
        b->arena,
        "{component_key: model, variant_key: huggingface_pretrained_model, config: {model_type: "
        "AutoModelForCausalLM, model_name: %s, prediction_key: logits, "
        "huggingface_prediction_subscription_key: logits, sample_key: input_ids, index_loss: %s}}",
        path_join(b->arena, b->root, "hf"), weight);
}

static Outcome trained(const Bench *b, const char *weight, const char *run)
{
    return bench_run(
        b, run, NULL,
        (const char *[]){ SET, arena_printf(b->arena, "model_raw=%s", model_of(b, weight)), SET,
                          "initialized_model={component_key: model, variant_key: compiled, config: "
                          "{model: {instance_key: wrapped_model, pass_type: BY_REFERENCE}, "
                          "block_names: [DeepseekV32DecoderLayer]}}",
                          SET, "wrapped_model.config.block_names=[DeepseekV32DecoderLayer]", NULL },
        NULL);
}

/* Whoever trained them is no part of config.json. */
TEST(indexers_go_out_to_a_folder_and_learn_there_where_they_are_asked_to)
{
    Bench b = bench_new();
    int64_t steps;
    const char *yaml = path_join(b.arena, b.root, "model.yaml"),
               *text = "model_raw: " EXPORTED "\n";
    assert_ended_well(bench_run(
        &b, "run", NULL, (const char *[]){ SET, "model_raw=" EXPORTED, BLOCKS, NULL }, NULL));
    assert_no_error(file_write_unsynced(yaml, text, strlen(text)));
    const char *words[] = { "convert_pytorch_to_hf_checkpoint",
                            "--config_file_path",
                            yaml,
                            "--checkpoint_path",
                            bench_last_checkpoint(&b, "run", &steps),
                            "--output_hf_checkpoint_dir",
                            path_join(b.arena, b.root, "hf"),
                            NULL };
    assert_ended_well(command_output(b.arena, words, NULL));
    const Outcome asked = trained(&b, "1.0", "asked"), other = trained(&b, "0.0", "other");
    assert_ended_well(asked);
    assert_ended_well(other);
    assert_contains(asked.text, " | " NAME ": ");
    assert_null(strstr(other.text, NAME));
    arena_free(b.arena);
}
