/* model.c - what all language models share: logits and loss. */
#include "models/model.h"
#include "ops/contract.h"
#include "ops/cross_entropy.h"
#include "ops/elementwise.h"
#include "ops/head_loss.h"
#include "ops/logit_cap.h"
#include "ops/mean_valid.h"
#include "ops/sequence.h"
#include "tensor/target.h"
#include <string.h>

static int64_t size_of(const Dim *d, const ForwardSettings *f)
{
    return d->size ? d->size : d->axis && !strcmp(d->axis, "batch") ? f->batch : f->sequence;
}

Value *model_input(Graph *g, const ModelInput *in, const ForwardSettings *f)
{
    Dim dim[MAX_DIMS];
    for (int d = 0; d < in->n_dims; d++) {
        dim[d] = in->dim[d];
        dim[d].size = size_of(&in->dim[d], f);
    }
    return graph_input(g, in->name, in->dtype, in->n_dims, dim);
}

ModelInput model_token_ids(const char *name, const char *setting, int64_t n_ids)
{
    return (ModelInput){ .name = name,
                         .setting = setting,
                         .dtype = I32,
                         .n_dims = 2,
                         .dim = { { .axis = "batch" }, { .axis = "seq" } },
                         .n_ids = n_ids };
}

const ModelInput *model_text(const Model *m)
{
    const ModelInput *text = NULL;
    for (const ModelInput *in = m->inputs; in->name; in++) {
        if (in->of_documents) continue;
        if (text || in->dtype != I32 || in->n_dims != 2 || !in->n_ids) return NULL;
        text = in;
    }
    return text;
}

const BlockClass *model_block_class(const Model *m, const char *name)
{
    for (const BlockClass *c = m->blocks; c && c->name; c++)
        if (!strcmp(c->name, name)) return c;
    return NULL;
}

const BlockClass *model_block_stack(const Model *m, const char *stack)
{
    for (const BlockClass *c = m->blocks; c && c->name; c++)
        if (!strcmp(c->stack, stack)) return c;
    return NULL;
}

static Error *unknown_block(const Model *m, const char *key, int64_t i, const char *name)
{
    Text known = { 0 };
    for (const BlockClass *c = m->blocks; c && c->name; c++)
        text_printf(&known, "%s%s", c == m->blocks ? "" : ", ", c->name);
    Error *e = known.len ? error_new("%s.%lld: %s: the blocks of model.%s are %s", key,
                                     (long long)i, name, m->name, known.ptr)
                         : error_new("%s.%lld: %s: model.%s has no blocks", key, (long long)i, name,
                                     m->name);
    text_free(&known);
    return e;
}

Error *model_check_blocks(const Model *m, const char *key, const StringList *names)
{
    for (int64_t i = 0; i < names->n; i++)
        if (!model_block_class(m, names->item[i])) return unknown_block(m, key, i, names->item[i]);
    return NULL;
}

Value *model_logits(Graph *g, const ModelOutput *out)
{
    if (out->logits) return out->logits;
    Value *logits = contract(g, "*k,nk->*n", out->hidden, out->head);
    if (out->head_bias) logits = add_bias(g, logits, out->head_bias);
    return out->logit_cap > 0 ? logit_cap(g, logits, out->logit_cap) : logits;
}

static Value *token_losses(Graph *g, const ModelOutput *out, Value *targets)
{
    const bool from_logits = out->logits || out->head_bias || out->logit_cap > 0;
    return from_logits ? cross_entropy(g, model_logits(g, out), targets)
                       : head_loss(g, out->hidden, out->head, targets);
}

const char *model_ahead_name(Arena *a, int i)
{
    return arena_printf(a, "loss_ahead.%d", i);
}

void model_give_ahead(Graph *g, ModelOutput *out)
{
    for (int i = 0; i < out->n_ahead; i++) {
        ModelOutput one = *out;
        one.hidden = out->ahead[i];
        graph_output(g, arena_printf(g->arena, "logits_ahead.%d", i), model_logits(g, &one));
    }
    out->n_ahead = 0;
}

/* With the losses of the tokens after the next one. */
static Value *with_ahead(Graph *g, const ModelOutput *out, Value *targets)
{
    Value *penalty = out->penalty;
    for (int i = 0; i < out->n_ahead; i++) {
        ModelOutput one = *out;
        one.hidden = out->ahead[i];
        Value *later = later_ids(g, targets, i + 1, IGNORED_TARGET);
        Value *mean = mean_valid(g, token_losses(g, &one, later), later);
        graph_output(g, model_ahead_name(g->arena, i), mean);
        mean = scale(g, mean, out->ahead_weight / out->n_ahead);
        penalty = penalty ? add(g, penalty, mean) : mean;
    }
    return penalty;
}

Value *model_loss(Graph *g, const ModelOutput *out, Value *targets, bool global_tokens)
{
    Value *token_loss = token_losses(g, out, targets);
    Value *mean = mean_valid(g, token_loss, targets), *sum = sum_valid(g, token_loss, targets);
    Value *loss = global_tokens ? sum : mean, *penalty = with_ahead(g, out, targets);
    if (penalty && global_tokens) penalty = mul(g, penalty, count_valid(g, targets));
    if (penalty) loss = add(g, loss, penalty);
    graph_output(g, "loss", loss);
    graph_output(g, "loss_mean", mean);
    graph_output(g, "loss_sum", sum);
    return loss;
}

int64_t graph_parameter_count(const Graph *g)
{
    int64_t n = 0;
    for (int64_t i = 0; i < g->n_values; i++)
        if (g->value[i]->kind == VALUE_PARAM) n += value_count(g->value[i]);
    for (int64_t i = 0; i < g->n_elsewhere; i++) n += value_count(g->elsewhere[i]);
    return n;
}
