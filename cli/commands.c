/* commands.c - the list of all commands, one line each, by group and name. */
#include "command.h"
#include <string.h>

/* LIST names each command once; it is expanded to declarations and to the table. */
/* clang-format off */
#define LIST(COMMAND) \
    COMMAND(command_top_help) \
    COMMAND(command_benchmark_list_remaining_runs) \
    COMMAND(command_benchmark_prepare_sweep_configs) \
    COMMAND(command_checkpoint_convert) \
    COMMAND(command_checkpoint_diff) \
    COMMAND(command_checkpoint_inspect) \
    COMMAND(command_checkpoint_norms) \
    COMMAND(command_checkpoint_verify) \
    COMMAND(command_config_check) \
    COMMAND(command_config_resolve) \
    COMMAND(command_data_bigram_loss) \
    COMMAND(command_data_create_raw_index) \
    COMMAND(command_data_create_shuffled_dataset_chunk) \
    COMMAND(command_data_create_shuffled_jsonl_chunk) \
    COMMAND(command_data_export_megatron) \
    COMMAND(command_data_filter) \
    COMMAND(command_data_import_megatron) \
    COMMAND(command_data_inspect) \
    COMMAND(command_data_merge_packed_data) \
    COMMAND(command_data_order) \
    COMMAND(command_data_pack_encoded_data) \
    COMMAND(command_data_prepare_instruction_tuning_data) \
    COMMAND(command_data_shuffle_jsonl_data) \
    COMMAND(command_data_shuffle_tokenized_data) \
    COMMAND(command_data_verify) \
    COMMAND(command_data_verify_packing) \
    COMMAND(command_docs_commands) \
    COMMAND(command_docs_components) \
    COMMAND(command_docs_man) \
    COMMAND(command_docs_ops) \
    COMMAND(command_docs_schema) \
    COMMAND(command_model_inspect) \
    COMMAND(command_model_run) \
    COMMAND(command_profile_distributed) \
    COMMAND(command_profile_single_process) \
    COMMAND(command_report) \
    COMMAND(command_sweep_report) \
    COMMAND(command_sweep_run) \
    COMMAND(command_tokenizer_decode) \
    COMMAND(command_tokenizer_encode) \
    COMMAND(command_tokenizer_inspect) \
    COMMAND(command_tokenizer_train) \
    COMMAND(command_top_board) \
    COMMAND(command_top_completion) \
    COMMAND(command_top_convert_gpt2) \
    COMMAND(command_top_convert_pytorch_to_hf_checkpoint) \
    COMMAND(command_top_devices) \
    COMMAND(command_top_diff) \
    COMMAND(command_top_evaluate) \
    COMMAND(command_top_generate_text) \
    COMMAND(command_top_init) \
    COMMAND(command_top_plan) \
    COMMAND(command_top_replay) \
    COMMAND(command_top_reproduce) \
    COMMAND(command_top_resume) \
    COMMAND(command_top_run) \
    COMMAND(command_top_warmstart)
/* clang-format on */

#define DECLARE(name) extern const Command name;
#define POINTER(name) &name,
LIST(DECLARE)
const Command *const commands[] = { LIST(POINTER) NULL };

static const struct {
    const char *name, *doc;
} groups[] = {
    { "benchmark", "Prepare sweeps over configurations, as the original does." },
    { "checkpoint", "Look into checkpoints." },
    { "config", "Check and resolve configurations." },
    { "data", "Index, tokenize, shuffle and merge data." },
    { "docs", "Print the reference pages." },
    { "model", "Run and inspect models." },
    { "profile", "Measure a component: kernels, memory." },
    { "sweep", "Run many configurations, and tell what they show." },
    { "tokenizer", "Train and use tokenizers." },
};

const char *command_group_doc(const char *group)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (!strcmp(groups[i].name, group)) return groups[i].doc;
    return NULL;
}

const Command *command_find(const char *group, const char *name)
{
    for (int i = 0; commands[i]; i++) {
        const char *g = commands[i]->group;
        bool is_same_group = g && group ? !strcmp(g, group) : g == group;
        if (is_same_group && !strcmp(commands[i]->name, name)) return commands[i];
    }
    return NULL;
}
