/* generation_config.c - the configuration of generate_text, made of what lies in a model's folder.
 */
#include "train/generation_config.h"
#include "base/file.h"
#include "checkpoint/saving.h"
#include "config/config.h"
#include "models/hf/config.h"
#include "monitor/run_record.h"
#include "tokenizer/hf/pretrained_config.h"
#include "train/resume.h"
#include <string.h>

#define CONFIG_JSON "config.json"
#define TOKENIZER_JSON "tokenizer.json"

/* The parts that differ; all but `model` as YAML. */
typedef struct Parts {
    const char *sample_key, *prediction_key;
    const char *path; /* of the weights */
    Yaml *model, *tokenizer;
    const char *eod;
} Parts;

static Yaml *map_of(Arena *a, const char *text)
{
    Yaml *out = NULL;
    Error *e = yaml_parse(a, str_of(text), "generate_text", &out);
    CHECK(!e);
    return out;
}

static Yaml *component(Arena *a, const char *kind, const char *variant, const char *config)
{
    return map_of(a, arena_printf(a, "{component_key: %s, variant_key: %s, config: %s}", kind,
                                  variant, config));
}

static Yaml *config_of(Yaml *component)
{
    Yaml *c = yaml_get(component, "config");
    CHECK(c != NULL);
    return c;
}

/* ---- the model of a checkpoint ---- */

/* What a reference to a top-level key stands for; the deepest is no reference. */
static const Yaml *referred(const Yaml *root, const Yaml *node)
{
    for (int depth = 0; depth < 16; depth++) {
        const char *key = yaml_text_at(node, "instance_key");
        if (!*key || !yaml_get(root, key)) break;
        node = yaml_get(root, key);
    }
    return node;
}

/* A copy with what references stand for in their place. */
static Yaml *with_all(Arena *a, const Yaml *root, const Yaml *node)
{
    node = referred(root, node);
    Yaml *out = yaml_copy(a, node, NULL);
    if (node->type != YAML_MAP && node->type != YAML_LIST) return out;
    yaml_empty(out);
    for (int64_t i = 0; i < node->n; i++) {
        Yaml *item = with_all(a, root, node->item[i]);
        if (node->type == YAML_LIST)
            yaml_append(a, out, item);
        else
            yaml_set(a, out, node->key[i]->text, item);
    }
    return out;
}

/* Wrappers without which a model would answer otherwise: adapters and averages of its weights. */
static bool answers(const Yaml *wrapper)
{
    const char *variant = yaml_text_at(wrapper, "variant_key");
    return !strcmp(variant, "lora") || !strcmp(variant, "averaged");
}

/* Without what lays a model out, initializes or trains it. */
static Yaml *bare_model(Arena *a, const Yaml *root, const Yaml *node)
{
    node = referred(root, node);
    const Yaml *inner = yaml_get(yaml_get(node, "config"), "model");
    if (!inner) return with_all(a, root, node);
    Yaml *of = bare_model(a, root, inner);
    if (!answers(node)) return of;
    Yaml *out = with_all(a, root, node);
    yaml_set(a, config_of(out), "model", of);
    return out;
}

/* Whether a value of it could not be resolved. */
static bool has_hole(const Yaml *node)
{
    if (node->is_hole) return true;
    for (int64_t i = 0; i < node->n; i++)
        if (has_hole(node->item[i])) return true;
    return false;
}

/* The innermost model. */
static Yaml *innermost(Yaml *model)
{
    Yaml *inner;
    while ((inner = yaml_get(yaml_get(model, "config"), "model"))) model = inner;
    return model;
}

/* A folder of Hugging Face's leads from where the training was started. */
static void find_beside(Arena *a, const char *checkpoint, Yaml *model)
{
    Yaml *config = yaml_get(innermost(model), "config");
    const char *name = yaml_text_at(config, "model_name");
    RunRecord run = { .start_folder = "" };
    if (!*name || !training_is_started(a, checkpoint)) return;
    error_free(run_record_read_as_written(a, checkpoint, &run));
    const char *there =
        *name == '/' || !run.start_folder ? name : path_join(a, run.start_folder, name);
    if (file_exists(there)) yaml_set(a, config, "model_name", yaml_literal(a, there));
}

static const char *checkpoint_of(Arena *a, const char *given)
{
    const char *info = path_join(a, path_join(a, given, "checkpoints"), LAST_CHECKPOINT_INFO);
    return training_folder(a, file_exists(info) ? info : given);
}

static Error *read_kept(Arena *a, const char *path, const Rank *rank, Parts *p)
{
    const ResolverContext context = {
        .rank = rank, .config_file_path = path, .experiments_root_path = ".", .experiment_id = "-1"
    };
    Yaml *root = NULL;
    Problems holes = { 0 }; /* what a model does not need may be missing here */
    TRY(config_load_with_holes(a, path, (StringList){ 0 }, &context, &root, &holes));
    const Yaml *keys = yaml_get(yaml_get(root, "settings"), "referencing_keys"),
               *state = yaml_get(root, "app_state"),
               *model = yaml_get(yaml_get(referred(root, state), "config"), "model");
    if (!model) return error_new("%s: app_state has no model", path);
    p->model = bare_model(a, root, model);
    if (has_hole(p->model)) return problems_error(&holes);
    find_beside(a, p->path, p->model);
    p->sample_key = yaml_text_at(keys, "sample_key");
    p->prediction_key = yaml_text_at(keys, "prediction_key");
    return NULL;
}

static Error *read_model(Arena *a, const char *given, const Rank *rank, Parts *p)
{
    static const char hf[] = "{model_type: AutoModelForCausalLM, prediction_key: logits, "
                             "huggingface_prediction_subscription_key: logits, "
                             "sample_key: input_ids}";
    *p = (Parts){ .sample_key = "input_ids", .prediction_key = "logits", .eod = "<|endoftext|>" };
    p->path = checkpoint_of(a, given);
    const char *kept = path_join(a, p->path, RUN_YAML);
    if (file_exists(kept)) return read_kept(a, kept, rank, p);
    if (file_exists(given) && !file_exists(path_join(a, given, CONFIG_JSON)))
        return error_new("%s: neither a model of Hugging Face, with " CONFIG_JSON
                         ", nor a checkpoint with a " RUN_YAML
                         "; --config_file_path takes a YAML that describes the model",
                         given);
    TRY(hf_find(a, given, &p->path));
    p->model = component(a, "model", "huggingface_pretrained_model", hf);
    yaml_set(a, config_of(p->model), "model_name", yaml_literal(a, p->path));
    return NULL;
}

/* ---- the tokenizer ---- */

/* The folder that a model of Hugging Face comes from; "": it comes from none. */
static const char *model_folder(Yaml *model)
{
    return yaml_text_at(yaml_get(innermost(model), "config"), "model_name");
}

static Error *read_tokenizer(Arena *a, const char *model, const char *given, Parts *p)
{
    const char *folder = given ? given : p->path;
    const char *beside = model_folder(p->model);
    if (!given && *beside) folder = beside;
    if (str_ends(str_of(folder), ".model")) {
        p->tokenizer = component(a, "tokenizer", "pretrained_sp_tokenizer", "{}");
        yaml_set(a, config_of(p->tokenizer), "tokenizer_model_file", yaml_literal(a, folder));
        return NULL;
    }
    if (!strcmp(path_name(folder), TOKENIZER_JSON)) folder = path_folder(a, folder);
    if (!file_exists(path_join(a, folder, TOKENIZER_JSON))) {
        if (given) return error_usage("--tokenizer_path: %s has no " TOKENIZER_JSON, folder);
        return error_usage("--tokenizer_path: %s does not say whose tokens it knows; a folder with "
                           "a " TOKENIZER_JSON " or a SentencePiece .model is needed",
                           model);
    }
    PretrainedConfig config;
    TRY(pretrained_config_read(a, folder, &config));
    const Str eos = config.role[EOS_ROLE].token.content;
    if (eos.ptr) p->eod = arena_string_n(a, eos.ptr, eos.len);
    p->tokenizer = component(a, "tokenizer", "pretrained_hf_tokenizer", "{}");
    yaml_set(a, config_of(p->tokenizer), "pretrained_model_name_or_path", yaml_literal(a, folder));
    return NULL;
}

/* ---- all of it ---- */

Error *generation_config_of(Arena *a, const char *model, const char *tokenizer, const Rank *rank,
                            Yaml **root)
{
    static const char torch[] = "{device: cpu, precision: null}";
    Parts p;
    TRY(read_model(a, model, rank, &p));
    TRY(read_tokenizer(a, model, tokenizer, &p));
    Yaml *all = map_of(
        a, arena_printf(a, "settings: {device: cpu, sequence_length: %d, referencing_keys: {}}",
                        GENERATION_TOKENS));
    Yaml *settings = yaml_get(all, "settings"), *keys = yaml_get(settings, "referencing_keys");
    CHECK(keys != NULL);
    yaml_set(a, settings, "model_path", yaml_literal(a, p.path));
    yaml_set(a, keys, "sample_key", yaml_literal(a, p.sample_key));
    yaml_set(a, keys, "prediction_key", yaml_literal(a, p.prediction_key));
    Yaml *text = component(a, "inference_component", "text",
                           arena_printf(a,
                                        "{device: cpu, sequence_length: %d, temperature: 0.8, "
                                        "prompt_template: \"{prompt_input}\"}",
                                        GENERATION_TOKENS));
    Yaml *loaded = p.model;
    if (strcmp(p.path, model_folder(p.model)) != 0) {
        loaded = component(a, "model", "fsdp1_checkpointed", "{}");
        yaml_set(a, config_of(loaded), "checkpoint_loading",
                 component(a, "checkpoint_loading", "torch", torch));
        yaml_set(a, config_of(loaded), "checkpoint_path", yaml_literal(a, p.path));
        yaml_set(a, config_of(loaded), "model", p.model);
    }
    yaml_set(a, config_of(text), "model", loaded);
    yaml_set(a, config_of(text), "tokenizer", p.tokenizer);
    yaml_set(a, config_of(text), "eod_token", yaml_literal(a, p.eod));
    yaml_set(a, all, "text_inference_component", text);
    *root = all;
    return NULL;
}
