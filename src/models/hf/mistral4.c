/* mistral4.c - what Mistral 4 has of its own beside DeepSeek V3's layers: sizes where config.json
 * is silent, and how it says which features turn. */
#include "models/hf/config_parts.h"
#include <math.h>
#include <string.h>

static const HfRenamed renamed[] = { { "num_local_experts", "n_routed_experts" }, { 0 } };

static const HfSilent silent[] = { { "hidden_size", "4096" },
                                   { "intermediate_size", "12288" },
                                   { "num_hidden_layers", "36" },
                                   { "num_key_value_heads", "32" },
                                   { "kv_lora_rank", "256" },
                                   { "q_lora_rank", "1024" },
                                   { "qk_nope_head_dim", "64" },
                                   { "qk_rope_head_dim", "64" },
                                   { "v_head_dim", "128" },
                                   { "n_routed_experts", "128" },
                                   { "n_shared_experts", "1" },
                                   { "num_experts_per_tok", "4" },
                                   { "moe_intermediate_size", "2048" },
                                   { "first_k_dense_replace", "0" },
                                   { 0 } };
static const char silent_rope[] =
    "{\"rope_type\": \"yarn\", \"rope_theta\": 10000.0, \"factor\": 128.0, "
    "\"original_max_position_embeddings\": 8192, \"beta_fast\": 32.0, \"beta_slow\": 1.0, "
    "\"mscale\": 1.0, \"mscale_all_dim\": 1.0, \"llama_4_scaling_beta\": 0.1}";

/* What turns is a share of a head; the class makes frequencies for whole heads where they are not
 * scaled, and then cannot be computed. */
static Error *read_rope(HfReading *r, Yaml *root, const char *key)
{
    const HfConfig *c = &r->c;
    Yaml *p = yaml_copy(r->arena, yaml_get(root, key), NULL);
    const Yaml *share = yaml_get(p, "partial_rotary_factor"), *type = yaml_get(p, "rope_type");
    if (!type) type = yaml_get(p, "type");
    if (!type || type->type != YAML_STRING || !strcmp(type->text, "default"))
        return hf_unknown(r, key, "rope_type must name a scaling, such as yarn");
    const double turning = (double)*c->qk_rope_head_dim,
                 head = turning + (double)*c->qk_nope_head_dim;
    if (share && floor(hf_number(p, "partial_rotary_factor", 0) * head) != turning)
        return hf_unknown(r, key, "partial_rotary_factor must be the share of qk_rope_head_dim");
    if (share) yaml_set(r->arena, p, "partial_rotary_factor", yaml_scalar(r->arena, "1.0"));
    hf_set_option(r->arena, root, key, p);
    return hf_read_fields(r, hf_config_fields, &r->c);
}

static Error *read_options(HfReading *r)
{
    Yaml *root = hf_rename_options(r, renamed, silent), *rope;
    const Yaml *v5 = yaml_get(root, "rope_parameters"), *v4 = yaml_get(root, "rope_scaling");
    const bool is_v5 = v5 && v5->type == YAML_MAP && v5->n,
               is_v4 = !is_v5 && v4 && v4->type == YAML_MAP && v4->n;
    if (!is_v5 && !is_v4) {
        TRY(yaml_parse(r->arena, str_of(silent_rope), "config.json", &rope));
        hf_set_option(r->arena, root, "rope_parameters", rope);
    }
    TRY(hf_read_fields(r, hf_config_fields, &r->c));
    return read_rope(r, root, is_v4 ? "rope_scaling" : "rope_parameters");
}

const HfDialect hf_mistral4 = { .read = read_options };
