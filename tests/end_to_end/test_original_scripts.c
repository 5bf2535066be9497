/* test_original_scripts.c - the commands of the original's tutorial scripts, as they are typed
 * there, in a tree like its own, on data made here. */
#include "base/file.h"
#include "cli/command_line.h"
#include "end_to_end/training.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sets the variables of torchrun's ranks; other options of it are passed over. */
static const char torchrun[] =
    "#!/bin/sh\n"
    "n=1\n"
    "while case $1 in --*) true ;; *) false ;; esac; do\n"
    "    [ $1 != --nproc_per_node ] || n=$2\n"
    "    shift 2\n"
    "done\n"
    "export WORLD_SIZE=$n LOCAL_WORLD_SIZE=$n MASTER_ADDR=localhost MASTER_PORT=$$ "
    "OMP_NUM_THREADS=1\n"
    "rank=1\n"
    "while [ $rank -lt $n ]; do\n"
    "    RANK=$rank LOCAL_RANK=$rank python3 -u \"$@\" & waiting=\"$waiting $!\"\n"
    "    rank=$((rank + 1))\n"
    "done\n"
    "RANK=0 LOCAL_RANK=0 python3 -u \"$@\" || exit 1\n"
    "for one in $waiting; do wait $one || exit 1; done\n";

typedef struct Tree {
    Arena *arena;
    const char *folder;
} Tree;

static const char *type(const Tree *t, const char *commands)
{
    const char *said, *command = arena_printf(t->arena, "set -e; cd %s\n%s", t->folder, commands);
    if (shell_run(t->arena, command, &said)) fail_msg("%s\n%s", commands, said);
    return said;
}

/* tutorials/ as in a checkout, without what its scripts make. `modalities` is on the PATH. */
static Tree tree_new(void)
{
    Arena *a = arena_new();
    Tree t = { a, path_join(a, path_absolute(a, test_folder()), "original") };
    const char *given = path_absolute(a, shared_path(a, "data")),
               *build = path_folder(a, path_absolute(a, program_path()));
    assert_no_error(make_directories(path_join(a, t.folder, "bin")));
    const char *launcher = path_join(a, t.folder, "bin/torchrun");
    assert_no_error(file_write(launcher, torchrun, strlen(torchrun)));
    assert_int_equal(chmod(launcher, 0755), 0);
    setenv("PATH", arena_printf(a, "%s/bin:%s/bin:%s", build, t.folder, getenv("PATH")), 1);
    type(&t, arena_printf(a,
                          "mkdir tutorials && cd tutorials && cp -r %s/modalities/tutorials/* . && "
                          "chmod -R u+w . && ln -s %s/tokenizers/gpt2 gpt2 && "
                          "ln -sfn ../gpt2 getting_started/tokenizer_folder",
                          given, given));
    return t;
}

/* Texts under a key of JSON lines: numbers in words that the tokenizer cuts. */
static void write_texts(const Tree *t, const char *name, const char *before, const char *after,
                        int n, int words)
{
    Text lines = { 0 };
    for (int i = 0; i < n; i++) {
        text_puts(&lines, before);
        for (int k = 0; k < words; k++) text_printf(&lines, "word %d ", i * k % 97);
        text_puts(&lines, after);
    }
    const char *path = path_join(t->arena, t->folder, name);
    assert_no_error(make_directories(path_folder(t->arena, path)));
    assert_no_error(file_write(path, lines.ptr, lines.len));
    text_free(&lines);
}

#define RAW "tutorials/getting_started/data/raw/redpajama_v2_samples_512_"

TEST(scripts_of_getting_started_work_with_the_real_vocabulary)
{
    Tree t = tree_new();
    write_texts(&t, RAW "train.jsonl", "{\"raw_content\": \"", "\"}\n", 64, 300);
    write_texts(&t, RAW "test.jsonl", "{\"raw_content\": \"", "\"}\n", 32, 300);
    const char *said = type(
        &t,
        "cd tutorials/getting_started && mkdir -p data/mem_map\n"
        "modalities data create_raw_index --index_path "
        "data/mem_map/redpajama_v2_samples_512_train.idx "
        "data/raw/redpajama_v2_samples_512_train.jsonl\n"
        "modalities data create_raw_index --index_path "
        "data/mem_map/redpajama_v2_samples_512_test.idx "
        "data/raw/redpajama_v2_samples_512_test.jsonl\n"
        "modalities data pack_encoded_data configs/example_dataset_config_train.yaml\n"
        "modalities data pack_encoded_data configs/example_dataset_config_test.yaml\n"
        "CUDA_VISIBLE_DEVICES=0,1 torchrun --rdzv-endpoint localhost:29505 --nnodes 1 "
        "--nproc_per_node 2 $(which modalities) run --config_file_path configs/example_config.yaml "
        "--experiments_root_path ./experiments\n");
    assert_contains(said, "redpajama_v2_samples_512_train.pbin: 64 documents");
    assert_contains(said, "Training done");
    arena_free(t.arena);
}

TEST(scripts_of_the_warm_start_work_with_the_real_vocabulary)
{
    Tree t = tree_new();
    write_texts(&t, RAW "train.jsonl", "{\"raw_content\": \"", "\"}\n", 200, 300);
    const char *said = type(
        &t,
        "mkdir -p tutorials/warmstart/scripts && cd tutorials/warmstart/scripts\n"
        "modalities data create_raw_index --index_path "
        "../data/mem_map/redpajama_v2_samples_512_train.idx "
        "../../getting_started/data/raw/redpajama_v2_samples_512_train.jsonl\n"
        "modalities data pack_encoded_data ../configs/tokenization_config_train.yaml\n"
        "mkdir -p ../experiments\n"
        "CUDA_VISIBLE_DEVICES=0,1 torchrun --rdzv-endpoint localhost:29456 --nnodes 1 "
        "--nproc_per_node 2 $(which modalities) run --config_file_path "
        "../configs/pre_training_config.yaml --experiments_root_path ../experiments\n"
        "checkpoint_path=$(find ../experiments -name \"last_checkpoint_info.json\" -exec realpath "
        "{} \\;)\n"
        "CUDA_VISIBLE_DEVICES=0,1 torchrun --rdzv-endpoint localhost:29457 --nnodes 1 "
        "--nproc_per_node 2 $(which modalities) warmstart --config_file_path "
        "../configs/warmstart_config.yaml  --experiments_root_path ../experiments "
        "--last_checkpoint_info_file_path $checkpoint_path\n"
        "find ../experiments -name '*.distcp' | sed 's|.*target_steps|target_steps|' | sort | "
        "uniq -c\n");
    assert_contains(said, "the last checkpoint is that of step 11");
    assert_contains(said, "All 20 steps are done and saved.");
    assert_contains(said, "3 target_steps_20-target_tokens_81920/__0_0.distcp");
    assert_contains(said, "3 target_steps_20-target_tokens_81920/__1_0.distcp");
    arena_free(t.arena);
}

/* The tokenizer of its model lies where its name, taken as a path, says. */
TEST(scripts_of_instruction_tuning_prepare_the_data)
{
    Tree t = tree_new();
    write_texts(&t, "tutorials/instruction_tuning/data/smol-smoltalk_train_first_10K.jsonl",
                "{\"messages\": [{\"role\": \"user\", \"content\": \"how are you\"}, {\"role\": "
                "\"assistant\", \"content\": \"",
                "\"}]}\n", 40, 5);
    const char *said = type(
        &t,
        "cd tutorials/instruction_tuning && mkdir -p prepared_data Qwen/Qwen2.5-0.5B\n"
        "modalities tokenizer train --input_path data/smol-smoltalk_train_first_10K.jsonl --format "
        "lines --vocab_size 320 --special_tokens '<|endoftext|>' --special_tokens '<|im_start|>' "
        "--special_tokens '<|im_end|>' --output_path Qwen/Qwen2.5-0.5B/tokenizer.json\n"
        "modalities \\\n"
        "  data \\\n"
        "  prepare_instruction_tuning_data \\\n"
        "  --config_file_path configs/apply_chat_template_config.yaml\n"
        "ls prepared_data/*/*.pbin\n");
    assert_contains(said, "smol-smoltalk_train_first_10K_train.d91ea04.pbin");
    assert_contains(said, "smol-smoltalk_train_first_10K_test.d91ea04.pbin");
    arena_free(t.arena);
}

/* Its loop over the configurations that remain, of a small sweep: a run that is done has 8 lines of
 * training results and 2 of evaluations. */
TEST(scripts_of_scaling_up_run_a_sweep_on_four_and_eight_ranks)
{
    Tree t = tree_new();
    Bench b = bench_new();
    type(&t, arena_printf(t.arena,
                          "mkdir -p tutorials/scaling_up/configs tutorials/scaling_up/scripts && "
                          "sed 's/lr: .1e-3, 1e-2, 3e-2./lr: [1e-3]/; s/seed: .1, 2, 3, 4./seed: "
                          "[1, 2]/' %s >tutorials/scaling_up/configs/sweep_config.yaml",
                          path_absolute(t.arena, "tests/sweep/sweep.yaml")));
    setenv("TRAIN_PBIN", path_absolute(t.arena, write_many_tokens(t.arena)), 1);
    setenv("EVAL_PBIN", path_absolute(t.arena, b.pbin), 1);
    const char *said = type(
        &t,
        "cd tutorials/scaling_up/scripts\n"
        "modalities benchmark prepare_sweep_configs --sweep_config_path "
        "../configs/sweep_config.yaml --output_dir ../experiments --world_sizes 4,8\n"
        "EXPERIMENT_ROOT=$(realpath \"$(ls -d ../experiments/* | sort | tail -n 1)\")\n"
        "CONFIG_LIST_FILE=config_file_list.txt EXPECTED_STEPS=10\n"
        "modalities benchmark list_remaining_runs --exp_root $EXPERIMENT_ROOT  --file_list_path "
        "$CONFIG_LIST_FILE --expected_steps $EXPECTED_STEPS\n"
        "while IFS= read -r file; do\n"
        "    num_ranks=$(basename $(dirname $(dirname \"$file\")))\n"
        "    experiments_root_path=$(dirname \"$file\")\n"
        "    CUDA_VISIBLE_DEVICES=$(seq -s, 0 $((num_ranks - 1))) torchrun --rdzv-endpoint "
        "localhost:29504 --nnodes 1 --nproc_per_node $num_ranks $(which modalities) run "
        "--config_file_path \"$file\" --experiment_id \"\" --experiments_root_path "
        "$experiments_root_path\n"
        "done < \"$CONFIG_LIST_FILE\"\n"
        "modalities benchmark list_remaining_runs --exp_root $EXPERIMENT_ROOT --file_list_path "
        "again.txt --expected_steps $EXPECTED_STEPS --skip_exception_types "
        "\"OutOfMemoryError,ValueError\"\n");
    assert_contains(said, "4 of 4 configurations remain");
    assert_contains(said, "it runs here as 4 CPU ranks");
    assert_contains(said, "0 of 4 configurations remain");
    arena_free(b.arena);
    arena_free(t.arena);
}
