/* hf_export.c - loads a model's weights and writes them in the names of a class of transformers. */
#include "train/hf_export.h"
#include "base/file.h"
#include "base/log.h"
#include "checkpoint/hf_save.h"
#include "checkpoint/hf_tensors.h"
#include "checkpoint/hf_weights.h"
#include "models/adapter_names.h"
#include "models/hf/write.h"
#include "passes/average.h"
#include "train/merge_adapters.h"
#include "train/session.h"
#include <string.h>

/* The model's parameters in host memory. */
static Error *read_parameters(Arena *a, ParamStore *s, Dtype dtype, NamedTensor **out, int64_t *n)
{
    NamedTensor *list = NEW_N(a, NamedTensor, store_count(s));
    *n = 0;
    for (int64_t i = 0; i < store_count(s); i++) {
        const Stored *x = store_at(s, i);
        Tensor view;
        if (x->kind != VALUE_PARAM || parameter_is_adapter(x->name)) continue;
        TRY(store_numbers(s, x, true, a, &view));
        Tensor t = view;
        t.dtype = x->init.kind == INIT_CHOICES ? I64 : dtype; /* what chooses is a whole number */
        if (t.dtype != view.dtype) {
            t.data = arena_alloc(a, tensor_bytes(&t));
            dtype_convert(t.dtype, t.data, view.dtype, view.data, tensor_count(&view));
        }
        const bool is_average = str_starts(str_of(x->name), AVERAGE);
        list[(*n)++] = (NamedTensor){ x->name + (is_average ? strlen(AVERAGE) : 0), t };
    }
    *out = list;
    return NULL;
}

/* A model from a folder stays of its class, with all that its config.json says. */
static Error *choose(Arena *a, const HfExport *x, Dtype dtype, const HfFamily **family,
                     Text *config)
{
    const HfModel *hf = x->model->hf;
    const Decoder *d = decoder_of(x->model);
    Str bytes;
    if (!d)
        return error_new(
            "model.%s is no decoder of language: transformers has no class for it here",
            x->model->name);
    if (x->custom_code) return hf_custom_config_write(a, d, dtype, family, config);
    if (!hf || hf->is_part || hf->packing.format || dtype != hf->dtype)
        return hf_config_write(a, d, dtype, hf ? hf->family : NULL, family, config);
    *family = hf->family;
    TRY(file_read(a, path_join(a, hf->folder, "config.json"), &bytes));
    text_add(config, bytes.ptr, bytes.len);
    return NULL;
}

static Error *save(Arena *a, const HfExport *x, Session *s, Dtype dtype, const HfFamily *family,
                   const char *config)
{
    Program *unused;
    NamedTensor *param, *theirs;
    int64_t n, n_theirs;
    const Decoder *d = decoder_of(x->model);
    const char *why;
    if (hf_takes_ahead(family, d, &why))
        TRY(session_whole_program(s, NULL, false, 1, 1, &unused));
    else
        TRY(session_inspection_program(s, NULL, false, 1, 1, &unused));
    if (why) log_warning("the blocks of multi_token stay behind: %s", why);
    const char *tensors;
    const HfModel *hf = x->model->hf;
    if (hf && !d->multi_token && hf_weights_ahead(a, hf, &tensors, &why))
        log_warning("%s has blocks for later tokens (%s), which stay behind: %s", hf->folder,
                    tensors, why);
    if (x->model->adapters) TRY(adapters_merge(session_store(s), x->model->adapters));
    TRY(read_parameters(a, session_store(s), dtype, &param, &n));
    TRY(hf_tensors(a, family, d, param, n, &theirs, &n_theirs));
    const HfFolder folder = { .path = x->output_path,
                              .config = config,
                              .tokenizer = x->tokenizer ? x->tokenizer
                                           : hf         ? hf->folder
                                                        : NULL,
                              .tensor = theirs,
                              .n = n_theirs };
    return hf_save(a, &folder);
}

Error *hf_export(Arena *a, const HfExport *x, const char **class_name)
{
    const Model *m = x->model;
    const Dtype loaded = m->hf && !m->weights_path ? m->hf->dtype : m->weights_dtype;
    const Dtype dtype = x->dtype ? *x->dtype : loaded;
    const HfFamily *family = NULL;
    Text config = { 0 };
    Session *s = NULL;
    if (!m->weights_path && (!m->hf || m->initializer))
        return error_new("model.%s brings no weights: it comes without a checkpoint", m->name);
    Error *e = choose(a, x, dtype, &family, &config);
    CHECK(e || family);
    if (!e) e = session_new(&(SessionSettings){ .model = m }, &s);
    if (!e) e = save(a, x, s, dtype, family, arena_string(a, config.ptr));
    if (!e) *class_name = x->custom_code ? "GPT2ForCausalLM" : family->class_name;
    session_free(s);
    text_free(&config);
    return e;
}
