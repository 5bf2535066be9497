/* forced_model.c - writes configuration, weights and tokenizer of a forced model. */
#include "train/forced_model.h"
#include "checkpoint/safetensors.h"
#include "components.h"
#include "stored.h"
#include "test.h"
#include "tokenizer/small_tokenizer.h"
#include "train/session.h"
#include "train/state.h"
#include <string.h>

enum { END = 256, N_TOKENS = 257 };

static const char config_text[] =
    "settings:\n"
    "  model_path: %s\n"
    "  device: 0\n"
    "  sequence_length: 64\n"
    "  referencing_keys: {sample_key: input_ids, prediction_key: logits}\n"
    "text_inference_component:\n"
    "  component_key: inference_component\n"
    "  variant_key: text\n"
    "  config:\n"
    "    device: ${settings.device}\n"
    "    model: {instance_key: checkpointed_model, pass_type: BY_REFERENCE}\n"
    "    tokenizer: {instance_key: tokenizer, pass_type: BY_REFERENCE}\n"
    "    sequence_length: ${settings.sequence_length}\n"
    "    eod_token: " FORCED_END "\n"
    "    prompt_template: \"%s\"\n"
    "    temperature: 0\n"
    "checkpointed_model:\n"
    "  component_key: model\n"
    "  variant_key: fsdp1_checkpointed\n"
    "  config:\n"
    "    checkpoint_loading:\n"
    "      component_key: checkpoint_loading\n"
    "      variant_key: torch\n"
    "      config: {device: \"${settings.device}\", precision: BF16}\n"
    "    checkpoint_path: ${settings.model_path}\n"
    "    model: {instance_key: model_raw, pass_type: BY_REFERENCE}\n"
    "model_raw:\n"
    "  component_key: model\n"
    "  variant_key: gpt2\n"
    "  config:\n"
    "    sample_key: input_ids\n"
    "    prediction_key: logits\n"
    "    poe_type: NOPE\n"
    "    sequence_length: 64\n"
    "    vocab_size: 257\n"
    "    n_layer: 2\n"
    "    n_head_q: 2\n"
    "    n_head_kv: 1\n"
    "    n_embd: 260\n"
    "    ffn_hidden: 16\n"
    "    dropout: 0.0\n"
    "    bias: false\n"
    "    attention_implementation: manual\n"
    "    activation_type: gelu\n"
    "    use_weight_tying: false\n"
    "    attention_config:\n"
    "      qkv_transforms:\n"
    "      - type_hint: RotaryTransform\n"
    "        config: {n_embd: 260, n_head: 2, seq_length_dim: -2, base_freq: 10000}\n"
    "    attention_norm_config: &norm {norm_type: rms_norm, config: {ndim: 260, bias: false}}\n"
    "    ffn_norm_config: *norm\n"
    "    lm_head_norm_config: *norm\n"
    "tokenizer:\n"
    "  component_key: tokenizer\n"
    "  variant_key: pretrained_hf_tokenizer\n"
    "  config: {pretrained_model_name_or_path: %s}\n";

static int follower(const char *pairs, int token)
{
    for (const char *p = pairs; *p; p += 2)
        if ((unsigned char)p[0] == token) return p[1] == '$' ? END : (unsigned char)p[1];
    return token;
}

static void set(const Tensor *t, int64_t row, int64_t column)
{
    dtype_set(t->dtype, t->data, row * t->size[1] + column, 1);
}

static bool adds_to_the_residual(const char *name)
{
    return strstr(name, ".c_proj.") != NULL;
}

static void force(Arena *a, ParamStore *s, const char *pairs)
{
    assert_no_error(store_initialize(s, 1));
    for (int64_t i = 0; i < store_count(s); i++) {
        const Stored *x = store_at(s, i);
        bool is_embedding = !strcmp(x->name, "transformer.wte.weight"),
             is_head = strstr(x->name, "lm_head.weight") != NULL;
        if (!is_embedding && !is_head && !adds_to_the_residual(x->name)) continue;
        Tensor t = stored_view(a, s, x);
        memset(t.data, 0, tensor_bytes(&t));
        for (int k = 0; is_embedding && k < N_TOKENS; k++) set(&t, k, k);
        for (int k = 0; is_head && k < N_TOKENS; k++) set(&t, follower(pairs, k), k);
        stored_put(s, x, &t);
    }
}

/* A session over the model of the configuration, without its weights. */
static Session *open_session(Arena *a, const ForcedModel *m)
{
    void *model;
    Session *s;
    Program *p;
    assert_no_error(
        component_from_file(a, m->config, (StringList){ 0 }, "model_raw", "model", &model));
    assert_no_error(session_new(&(SessionSettings){ .model = model, .n_threads = 1 }, &s));
    assert_no_error(session_inspection_program(s, NULL, false, 1, 1, &p));
    return s;
}

static void write_weights(Arena *a, const char *path, ParamStore *s)
{
    NamedTensor *list = NEW_N(a, NamedTensor, store_count(s));
    int64_t n = 0;
    for (int64_t i = 0; i < store_count(s); i++) {
        const Stored *x = store_at(s, i);
        if (x->kind == VALUE_PARAM) list[n++] = (NamedTensor){ x->name, stored_view(a, s, x) };
    }
    assert_no_error(safetensors_write(path, list, n));
}

ForcedModel forced_model_write(Arena *a, const char *pairs, const char *template)
{
    static const char *const no_merges[] = { NULL };
    const char *folder = path_absolute(a, test_folder());
    const char *added =
        "[{\"id\":256,\"content\":\"" FORCED_END "\",\"special\":true,\"single_word\":false,"
        "\"lstrip\":false,\"rstrip\":false,\"normalized\":false}]";
    ForcedModel m = { .config = path_join(a, folder, "generate.yaml"),
                      .weights = path_join(a, folder, "forced.safetensors"),
                      .tokenizer = small_tokenizer(a, no_merges, added) };
    const char *text = arena_printf(a, config_text, m.weights, template, m.tokenizer);
    assert_no_error(file_write(m.config, text, strlen(text)));
    Session *s = open_session(a, &m);
    force(a, session_store(s), pairs);
    write_weights(a, m.weights, session_store(s));
    session_free(s);
    return m;
}

const char *forced_model_checkpoint(Arena *a, const ForcedModel *m)
{
    const char *path = path_join(a, test_folder(), "checkpoint");
    Session *s = open_session(a, m);
    assert_no_error(state_load(session_store(s), m->weights, NULL, false, NULL));
    int64_t n;
    StateTensor *state = state_of_store(a, session_store(s), false, NULL, &n);
    for (int64_t i = 0; i < n; i++)
        assert_no_error(store_view(session_store(s), &state[i].part, true, a, &state[i].part));
    assert_no_error(checkpoint_save(path, state, n, "{}"));
    session_free(s);
    return path;
}
