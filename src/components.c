/* components.c - the list of all built-in components, one line each, sorted. */
#include "components.h"
#include "config/builder.h"
#include "plugin/plugin.h"

/* LIST names each component once; it is expanded to declarations and to the table. */
/* clang-format off */
#define LIST(COMPONENT) \
    COMPONENT(app_state_dcp) \
    COMPONENT(app_state_raw) \
    COMPONENT(batch_sampler_default) \
    COMPONENT(checkpoint_loading_dcp) \
    COMPONENT(checkpoint_loading_fsdp1) \
    COMPONENT(checkpoint_loading_torch) \
    COMPONENT(checkpoint_saving_default) \
    COMPONENT(checkpoint_saving_execution_dcp) \
    COMPONENT(checkpoint_saving_execution_fsdp1) \
    COMPONENT(checkpoint_saving_strategy_every_k_steps) \
    COMPONENT(checkpoint_saving_strategy_k_most_recent) \
    COMPONENT(collate_fn_coca_collator) \
    COMPONENT(collate_fn_document_collator_wrapper) \
    COMPONENT(collate_fn_gpt_2_llm_collator) \
    COMPONENT(collate_fn_mask_loss_collator_wrapper) \
    COMPONENT(data_loader_default) \
    COMPONENT(dataset_batch_generator_random) \
    COMPONENT(dataset_combined) \
    COMPONENT(dataset_dummy_dataset) \
    COMPONENT(dataset_jsonl_on_the_fly) \
    COMPONENT(dataset_mem_map_dataset) \
    COMPONENT(dataset_packed_mem_map_dataset_continuous) \
    COMPONENT(dataset_packed_mem_map_dataset_megatron) \
    COMPONENT(dataset_safetensors) \
    COMPONENT(dataset_weighted_mix) \
    COMPONENT(debugging_settings) \
    COMPONENT(device_mesh_default) \
    COMPONENT(gradient_clipper_fsdp1) \
    COMPONENT(gradient_clipper_fsdp1_logging_only) \
    COMPONENT(gradient_clipper_fsdp2) \
    COMPONENT(gradient_clipper_fsdp2_logging_only) \
    COMPONENT(inference_component_text) \
    COMPONENT(checkpoint_samples_text) \
    COMPONENT(layer_norm_layer_norm) \
    COMPONENT(layer_norm_pytorch_rms_norm) \
    COMPONENT(layer_norm_rms_norm) \
    COMPONENT(loss_clm_cross_entropy_loss) \
    COMPONENT(loss_nce_loss) \
    COMPONENT(loss_weighted_sum) \
    COMPONENT(loss_z_loss) \
    COMPONENT(mfu_calculator_gpt2) \
    COMPONENT(model_activation_checkpointed) \
    COMPONENT(model_activation_checkpointed_fsdp1) \
    COMPONENT(model_averaged) \
    COMPONENT(model_qk_clip) \
    COMPONENT(model_coca) \
    COMPONENT(model_compiled) \
    COMPONENT(model_debugging_enriched) \
    COMPONENT(model_debugging_hook_detector) \
    COMPONENT(model_debugging_hook_nan_hook) \
    COMPONENT(model_debugging_hook_print_forward_hook) \
    COMPONENT(model_float8) \
    COMPONENT(model_frozen) \
    COMPONENT(model_fsdp1_checkpointed) \
    COMPONENT(model_lora) \
    COMPONENT(optimizer_fsdp1_checkpointed) \
    COMPONENT(model_fsdp1_wrapped) \
    COMPONENT(model_fsdp2_wrapped) \
    COMPONENT(model_gpt2_tp) \
    COMPONENT(model_parallelized) \
    COMPONENT(model_decoder) \
    COMPONENT(model_gpt2) \
    COMPONENT(model_huggingface_pretrained_model) \
    COMPONENT(model_initialization_composed) \
    COMPONENT(model_initialization_gpt2_llama3_like) \
    COMPONENT(model_model_initialized) \
    COMPONENT(model_vision_transformer) \
    COMPONENT(number_conversion_global_num_seen_tokens_from_checkpoint_path) \
    COMPONENT(number_conversion_global_num_target_tokens_from_checkpoint_path) \
    COMPONENT(number_conversion_last_step_from_checkpoint_path) \
    COMPONENT(number_conversion_local_num_batches_from_num_samples) \
    COMPONENT(number_conversion_local_num_batches_from_num_tokens) \
    COMPONENT(number_conversion_num_samples_from_num_tokens) \
    COMPONENT(number_conversion_num_seen_steps_from_checkpoint_path) \
    COMPONENT(number_conversion_num_steps_from_num_samples) \
    COMPONENT(number_conversion_num_steps_from_num_tokens) \
    COMPONENT(number_conversion_num_steps_from_raw_dataset_index) \
    COMPONENT(number_conversion_num_target_steps_from_checkpoint_path) \
    COMPONENT(number_conversion_num_tokens_from_num_steps) \
    COMPONENT(number_conversion_num_tokens_from_packed_mem_map_dataset_continuous) \
    COMPONENT(number_conversion_parallel_degree) \
    COMPONENT(optimizer_adam) \
    COMPONENT(optimizer_adam_w) \
    COMPONENT(optimizer_combined) \
    COMPONENT(optimizer_muon) \
    COMPONENT(pipeline_builder) \
    COMPONENT(pipeline_scheduled) \
    COMPONENT(pipeline_selector) \
    COMPONENT(pipeline_staged) \
    COMPONENT(progress_subscriber_dummy) \
    COMPONENT(progress_subscriber_rich) \
    COMPONENT(results_subscriber_combined) \
    COMPONENT(results_subscriber_csv) \
    COMPONENT(results_subscriber_dummy) \
    COMPONENT(results_subscriber_rich) \
    COMPONENT(results_subscriber_tensorboard) \
    COMPONENT(results_subscriber_to_disc) \
    COMPONENT(results_subscriber_wandb) \
    COMPONENT(sampler_distributed_sampler) \
    COMPONENT(sampler_resumable_distributed_multi_dim_sampler) \
    COMPONENT(sampler_resumable_distributed_sampler) \
    COMPONENT(sampler_sequential_sampler) \
    COMPONENT(scheduler_combined) \
    COMPONENT(scheduler_constant_lr) \
    COMPONENT(scheduler_cosine_annealing_lr) \
    COMPONENT(scheduler_dummy_lr) \
    COMPONENT(scheduler_linear_lr) \
    COMPONENT(scheduler_linear_warmup_cosine_annealing_lr) \
    COMPONENT(scheduler_onecycle_lr) \
    COMPONENT(scheduler_step_lr) \
    COMPONENT(scheduler_warmup_stable_decay_lr) \
    COMPONENT(stages_generator_by_cost) \
    COMPONENT(stages_generator_gpt2_stages_generator) \
    COMPONENT(steppable_component_forward_pass) \
    COMPONENT(steppable_component_steppable_norm) \
    COMPONENT(steppable_profiler_combined) \
    COMPONENT(steppable_profiler_kernel_tracing) \
    COMPONENT(steppable_profiler_memory_tracing) \
    COMPONENT(steppable_profiler_no_profiler) \
    COMPONENT(tokenizer_pretrained_hf_tokenizer) \
    COMPONENT(tokenizer_pretrained_sp_tokenizer)
/* clang-format on */

#define DECLARE(name) extern const ComponentDef name;
#define POINTER(name) &name,
LIST(DECLARE)
const ComponentDef *const built_in_components[] = { LIST(POINTER) NULL };

Error *components_registry(Arena *a, Registry **out)
{
    *out = registry_new(a);
    plugins_allow(*out);
    for (int i = 0; built_in_components[i]; i++) TRY(registry_add(*out, built_in_components[i]));
    return NULL;
}

static Error *load_tree(Arena *a, const char *path, StringList overrides, Rank *rank, Yaml **out)
{
    /* only runs have an experiment; elsewhere these names stand in paths that nobody opens */
    const ResolverContext context = {
        .rank = rank, .config_file_path = path, .experiments_root_path = ".", .experiment_id = "-1"
    };
    TRY(rank_of_process(rank));
    return config_load(a, path, overrides, &context, out);
}

Error *config_find_key(Arena *a, const char *path, StringList overrides, const char *const *keys,
                       const char **out)
{
    Rank rank;
    Yaml *root;
    TRY(load_tree(a, path, overrides, &rank, &root));
    while (*keys && !yaml_get(root, *keys)) keys++;
    *out = *keys;
    return NULL;
}

Error *component_from_file(Arena *a, const char *path, StringList overrides, const char *key,
                           const char *kind, void **out)
{
    Rank rank;
    Yaml *root;
    Registry *r;
    TRY(load_tree(a, path, overrides, &rank, &root));
    TRY(components_registry(a, &r));
    return builder_get(builder_new(a, r, root, &rank), key, kind, out);
}
