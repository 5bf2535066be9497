/* huggingface_pretrained_model.c - model.huggingface_pretrained_model: a decoder as the config.json
 * of a folder describes it, with the folder's weights. */
#include "base/log.h"
#include "config/builder.h"
#include "models/hf/config.h"
#include "models/hf/model.h"
#include <string.h>

typedef struct Settings {
    int model_type;
    const char *model_name, *prediction_key, *huggingface_prediction_subscription_key, *sample_key;
    const Yaml *model_args, *kwargs;
    double multi_token_weight, index_loss;
} Settings;

static Error *add_ahead(Arena *a, const HfModel *hf, double weight, Decoder *d)
{
    if (!hf->n_ahead || hf->n_ahead > MAX_AHEAD)
        return error_new("%s: multi_token_weight %g: config.json tells of %lld blocks for later "
                         "tokens (num_nextn_predict_layers), of classes that are known to have "
                         "them; allowed are 1 to %d",
                         hf->folder, weight, (long long)hf->n_ahead, MAX_AHEAD);
    const MultiToken m = { .depth = hf->n_ahead, .weight = weight, .behind_norm = true };
    d->multi_token = arena_copy(a, &m, sizeof m);
    return NULL;
}

static Error *train_indexers(Arena *a, const HfModel *hf, double weight, Decoder *d)
{
    if (!d->sparse)
        return error_new("%s: index_loss %g: no attention of this model has an indexer; it must "
                         "be 0",
                         hf->folder, weight);
    SparseAttention *s = arena_copy(a, d->sparse, sizeof *s);
    s->index_loss = weight;
    d->sparse = s;
    return NULL;
}

Error *hf_model_trained_new(Arena *a, const char *name, const char *sample_key,
                            const char *prediction_key, const HfTraining *t, Model **out)
{
    HfModel *hf = NEW(a, HfModel);
    const char *folder;
    TRY(hf_find(a, name, &folder));
    TRY(hf_config_read(a, folder, hf));
    Decoder *d = arena_copy(a, hf->decoder, sizeof *hf->decoder);
    if (hf->is_part)
        log_info("%s: the language model is taken alone; as %s it is written, too", folder,
                 hf->family->class_name);
    d->sample_key = sample_key;
    d->prediction_key = prediction_key;
    if (t->multi_token_weight > 0) TRY(add_ahead(a, hf, t->multi_token_weight, d));
    if (t->index_loss > 0) TRY(train_indexers(a, hf, t->index_loss, d));
    hf->decoder = d;
    *out = decoder_new(a, d);
    (*out)->hf = hf;
    return NULL;
}

Error *hf_model_new(Arena *a, const char *name, const char *sample_key, const char *prediction_key,
                    Model **out)
{
    return hf_model_trained_new(a, name, sample_key, prediction_key, &(HfTraining){ 0 }, out);
}

static bool is_empty(const Yaml *y)
{
    return !y || y->type == YAML_NULL || ((y->type == YAML_MAP || y->type == YAML_LIST) && !y->n);
}

enum { CAUSAL, MASKED };

static Error *check(const void *settings)
{
    const Settings *s = settings;
    if (s->model_type == MASKED)
        return error_new("model_type AutoModelForMaskedLM: models that fill gaps are not known; "
                         "allowed is AutoModelForCausalLM");
    if (strcmp(s->huggingface_prediction_subscription_key, "logits"))
        return error_new("huggingface_prediction_subscription_key %s: the models give logits alone",
                         s->huggingface_prediction_subscription_key);
    if (!is_empty(s->model_args) || !is_empty(s->kwargs))
        return error_new("model_args and kwargs are for the Python class; allowed are null and "
                         "empty ones: what config.json says holds");
    return NULL;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    const HfTraining t = { s->multi_token_weight, s->index_loss };
    Model *m = NULL;
    TRY(hf_model_trained_new(builder_arena(b), s->model_name, s->sample_key, s->prediction_key, &t,
                             &m));
    *out = m;
    return NULL;
}

static const char *const model_types[] = { "AutoModelForCausalLM", "AutoModelForMaskedLM", NULL };
/* clang-format off */
static const Field fields[] = {
    FIELD_CHOICE(Settings, model_type, NULL, model_types, "kind of model"),
    FIELD_STRING(Settings, model_name, NULL, "folder with config.json and .safetensors, or a name in the local Hugging Face cache: \"owner/name\"; nothing is downloaded"),
    FIELD_STRING(Settings, prediction_key, NULL, "name of the logits"),
    FIELD_STRING(Settings, huggingface_prediction_subscription_key, NULL, "what the Python class calls them: logits"),
    FIELD_STRING(Settings, sample_key, NULL, "name of the token ids in a batch"),
    FIELD_ANY(Settings, model_args, "null", "for the Python class: null or empty"),
    FIELD_ANY(Settings, kwargs, "null", "for the Python class: null or empty"),
    FIELD_FLOAT(Settings, multi_token_weight, "0.0", 0, INFINITY, "of the losses of the tokens after the next one, which further blocks of the folder predict (num_nextn_predict_layers); 0: these blocks are neither trained nor exported"),
    FIELD_FLOAT(Settings, index_loss, "0.0", 0, INFINITY, "weight of the loss that trains indexers of sparse attention; 0: they stay as they are"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_huggingface_pretrained_model = {
    .kind = "model",
    .variant = "huggingface_pretrained_model",
    .doc = "a Hugging Face model: Llama, Mistral, Mixtral, Qwen 2 and 3, OLMo 2 and 3, OLMoE, "
           "SmolLM 3, Phi 1 to 4, Granite, Arcee, Gemma 1 to 3, GPT-2",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .check = check,
    .build = build,
};
