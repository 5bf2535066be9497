/* model_run.c - files in, one pass, files out. */
#include "train/model_run.h"
#include "checkpoint/hf_tensors.h"
#include "checkpoint/safetensors.h"
#include "exec/schedule.h"
#include "tensor/target.h"
#include "train/session.h"
#include "train/state.h"
#include <inttypes.h>
#include <string.h>

static Error *find(const Safetensors *f, const char *name, const Tensor **out)
{
    *out = safetensors_find(f, name);
    return *out ? NULL : error_new("%s has no tensor %s", f->path, name);
}

static Error *check_id(const Safetensors *f, const char *name, const Tensor *t, int64_t i,
                       double id, int64_t n_ids, bool may_ignore)
{
    if ((id >= 0 && id < (double)n_ids) || (may_ignore && id == IGNORED_TARGET)) return NULL;
    const int64_t last = t->size[t->n_dims - 1];
    const char *row = t->n_dims > 1 ? ", " : "";
    return error_new("%s: %s[%" PRId64 "%s%" PRId64 "] is %.0f: allowed are 0 to %" PRId64 "%s",
                     f->path, name, t->n_dims > 1 ? i / last : 0, row, t->n_dims > 1 ? i % last : i,
                     id, n_ids - 1, may_ignore ? " and -100" : "");
}

/* Copies numbers into a program's input: ids below `n_ids`, or (0) floats. An ignored target may
 * stand among targets. */
static Error *feed(Arena *a, const Safetensors *f, const char *name, int64_t n_ids, bool may_ignore,
                   Program *p)
{
    const Tensor *from, *to = program_input(p, name, 0);
    void *data = arena_alloc(a, tensor_bytes(to));
    TRY(find(f, name, &from));
    bool same = from->n_dims == to->n_dims;
    for (int d = 0; same && d < to->n_dims; d++) same = from->size[d] == to->size[d];
    if (!same) return error_new("%s: %s has not the shape that the model wants", f->path, name);
    if (n_ids && dtype_is_float(from->dtype))
        return error_new("%s: %s must be integers", f->path, name);
    for (int64_t i = 0; i < tensor_count(from); i++) {
        double x = dtype_get(from->dtype, from->data, i);
        if (n_ids) TRY(check_id(f, name, from, i, x, n_ids, may_ignore));
        dtype_set(to->dtype, data, i, x);
    }
    return program_write(p, name, 0, data);
}

/* Batch and sequence, as the items of the model's inputs have them. */
static Error *find_sizes(const Safetensors *f, const Model *m, int64_t *batch, int64_t *sequence)
{
    *batch = *sequence = 1;
    for (const ModelInput *in = m->inputs; in->name; in++) {
        const Tensor *t;
        if (in->of_documents) continue;
        TRY(find(f, in->name, &t));
        if (t->n_dims != in->n_dims)
            return error_new("%s: %s must have %d dimensions, not %d", f->path, in->name,
                             in->n_dims, t->n_dims);
        for (int d = 0; d < in->n_dims; d++)
            if (!in->dim[d].size)
                *(!strcmp(in->dim[d].axis, "batch") ? batch : sequence) = t->size[d];
    }
    return NULL;
}

static Tensor in_host_memory(Arena *a, const Tensor *like, Dtype as)
{
    Tensor t = *like;
    t.dtype = as;
    t.data = arena_alloc(a, tensor_bytes(&t));
    return t;
}

static Tensor converted(Arena *a, const Tensor *from, Dtype as)
{
    Tensor t = in_host_memory(a, from, as);
    dtype_convert(as, t.data, from->dtype, from->data, tensor_count(from));
    return t;
}

static Error *output(Arena *a, Program *p, const char *name, Dtype as, NamedTensor *out)
{
    const Tensor *there = program_output(p, name, 0);
    Tensor read = in_host_memory(a, there, there->dtype);
    TRY(program_read(p, name, 0, read.data));
    *out = (NamedTensor){ name, converted(a, &read, as) };
    return NULL;
}

/* Gradients under the names of parameters, or of the tensors of the model's Hugging Face folder. */
static Error *gradients(Arena *a, const ModelRun *r, ParamStore *s, Dtype as, NamedTensor **out,
                        int64_t *n)
{
    NamedTensor *list = NEW_N(a, NamedTensor, store_count(s));
    *n = 0;
    for (int64_t i = 0; i < store_count(s); i++) {
        const Stored *x = store_at(s, i);
        Tensor read;
        if (x->kind != VALUE_ACCUMULATOR) continue;
        TRY(store_view(s, &x->tensor, true, a, &read));
        list[(*n)++] = (NamedTensor){ x->name, converted(a, &read, as) };
    }
    *out = list;
    if (!r->model->hf) return NULL;
    for (int64_t i = 0; i < *n; i++) list[i].name += strlen("grad.");
    TRY(hf_tensors(a, r->model->hf->family, r->model->hf->decoder, list, *n, out, n));
    for (int64_t i = 0; i < *n; i++) (*out)[i].name = arena_printf(a, "grad.%s", (*out)[i].name);
    return NULL;
}

/* All outputs of the graph but the reports of the loss. */
static bool is_shown(const Output *o, bool has_loss)
{
    return str_starts(str_of(o->name), "loss") ? has_loss && !strcmp(o->name, "loss") : true;
}

static Error *write_results(Arena *a, const ModelRun *r, Session *s, Program *p, bool has_loss)
{
    Dtype as = r->precision == RUN_F64 ? F64 : F32;
    const Graph *g = program_graph(p);
    NamedTensor *made = NULL;
    int64_t n_made = 0, n = 0;
    if (r->gradients) TRY(gradients(a, r, session_store(s), as, &made, &n_made));
    NamedTensor *list = NEW_N(a, NamedTensor, g->n_outputs + n_made);
    for (int64_t i = 0; i < g->n_outputs; i++)
        if (is_shown(&g->output[i], has_loss)) TRY(output(a, p, g->output[i].name, as, &list[n++]));
    for (int64_t i = 0; i < n_made; i++) list[n++] = made[i];
    return safetensors_write(r->output_path, list, n);
}

static Error *run(Arena *a, const ModelRun *r, Session *s)
{
    Safetensors *batch;
    int64_t batch_size, sequence;
    TRY(safetensors_open(a, r->batch_path, &batch));
    TRY(find_sizes(batch, r->model, &batch_size, &sequence));
    const Loss loss = r->loss ? *r->loss : loss_of_tokens(r->target_key);
    const Loss *used = r->loss ? r->loss : &loss;
    bool has_loss = safetensors_find(batch, loss.target_key) != NULL;
    if (r->gradients && !has_loss)
        return error_new("%s has no tensor %s, which gradients need", r->batch_path,
                         loss.target_key);
    Program *p;
    TRY(session_whole_program(s, has_loss ? used : NULL, r->gradients, batch_size, sequence, &p));
    if (r->weights_path)
        TRY(error_wrap(state_load(session_store(s), r->weights_path, NULL, false, NULL), "%s",
                       r->weights_path));
    for (const ModelInput *in = r->model->inputs; in->name; in++)
        if (!in->of_documents) TRY(feed(a, batch, in->name, in->n_ids, false, p));
    if (has_loss) TRY(feed(a, batch, loss.target_key, r->model->vocab_size, true, p));
    TRY(program_run_phases(p, RUN_FORWARD | (r->gradients ? RUN_BACKWARD : 0),
                           &(RunTime){ .loss_scale = 1 }));
    return write_results(a, r, s, p, has_loss);
}

Error *model_run(const ModelRun *r)
{
    static const Dtype dtypes[] = {
        [RUN_F32] = F32, [RUN_BF16] = BF16, [RUN_AUTOCAST] = BF16, [RUN_F64] = F64
    };
    SessionSettings settings = { .model = r->model,
                                 .precision = &dtypes[r->precision],
                                 .rounded_buffers = r->precision == RUN_BF16,
                                 .wide = r->precision == RUN_AUTOCAST };
    Session *s;
    TRY(session_new(&settings, &s));
    Arena *a = arena_new();
    Error *e = run(a, r, s);
    session_free(s);
    arena_free(a);
    return e;
}
