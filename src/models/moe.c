/* moe.c - a mixture of experts in the place of a feed-forward layer (Shazeer et al. 2017). Tokens
 * are sorted by expert, so that each expert is one product over its rows, however many come. */
#include "models/moe.h"
#include "comm/mesh.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/fill.h"
#include "ops/grouped_bias.h"
#include "ops/grouped_linear.h"
#include "ops/logit_cap.h"
#include "ops/moe_bias.h"
#include "ops/moe_mixer.h"
#include "ops/moe_route.h"
#include "ops/moe_rows.h"
#include "ops/moe_transfer.h"
#include "ops/reshape.h"
#include "ops/row_gate.h"
#include <string.h>

/* "experts.<name>.weight" [experts rows columns] */
static Value *experts(Graph *g, const char *name, const Moe *m, int64_t rows, int64_t columns,
                      bool is_down)
{
    const Dim d[] = { { .size = m->n_experts, .axis = "experts" },
                      { .size = rows, .axis = is_down ? "embed" : "ff" },
                      { .size = columns, .axis = is_down ? "ff" : "embed" } };
    const Role role = is_down ? ROLE_RESIDUAL : *name == 'V' ? ROLE_UP : ROLE_LINEAR;
    return layer_param(g, arena_printf(g->arena, "experts.%s", name), "weight", 3, d, role,
                       init_of_linear(columns));
}

/* Rows [g r k] times the weight of their expert, plus its bias: "experts.<name>.bias". */
static Value *expert_linear(Graph *g, const char *name, Value *x, const Moe *m, int64_t width,
                            const MoeMeeting *at, int64_t n)
{
    const int64_t inputs = value_width(x);
    const bool is_down = !strcmp(name, "W_2") || !strcmp(name, "c_proj");
    Value *weight = experts(g, name, m, width, inputs, is_down);
    Value *y = grouped_linear(g, x, weight, at->at, n);
    if (!m->bias) return y;
    const Dim d[] = { weight->dim[0], weight->dim[1] };
    Value *bias = layer_param(g, arena_printf(g->arena, "experts.%s", name), "bias", 2, d,
                              weight->role, init_of_linear(inputs));
    bias->is_bias = true;
    return grouped_bias(g, y, bias, at->at);
}

static void add_up(Graph *g, Value **sum, Value *more)
{
    *sum = *sum ? add(g, *sum, more) : more;
}

static void add_sums(Graph *g, const Moe *m, MoeSums *sums, Value *logits, Value *expert,
                     Value *dropped)
{
    Value *share, *probability;
    moe_share(g, logits, expert, &share, &probability);
    add_up(g, &sums->share, share);
    add_up(g, &sums->probability, probability);
    if (m->z_loss > 0) add_up(g, &sums->z, mean_square_lse(g, logits));
    if (dropped) add_up(g, &sums->dropped, dropped);
    sums->n_layers++;
}

/* What the experts make of rows [m d]. Ranks that share them send each other what is theirs. */
static Value *run_experts(Graph *g, Value *x, const Moe *m, const MoeRows *rows)
{
    const int64_t width = value_width(x), n = value_count(rows->of),
                  parts = g->mesh ? g->mesh->size[MESH_CP] : 1;
    const MoeMeeting at =
        moe_meet(g, rows->of, m->n_experts, moe_room(n, moe_all_experts(m), m->capacity), parts);
    Value *in = moe_send(g, x, &at);
    if (m->is_plain) {
        Value *a = activate(g, expert_linear(g, "c_fc", in, m, m->hidden, &at, n), m->activation);
        return moe_return(g, expert_linear(g, "c_proj", a, m, width, &at, n), &at);
    }
    Value *a = expert_linear(g, "W", in, m, m->hidden, &at, n),
          *b = expert_linear(g, "V", in, m, m->hidden, &at, n);
    const double bound = m->experts_bound > 0 ? m->experts_bound : m->gate_bound;
    Value *y = expert_linear(g, "W_2", gate(g, a, b, m->activation, bound), m, width, &at, n);
    return moe_return(g, y, &at);
}

#define LOAD "load"

int64_t moe_all_experts(const Moe *m)
{
    return m->n_experts + m->zero_experts;
}

bool moe_has_biases(const Moe *m)
{
    return m->has_biases || m->balance_rate > 0;
}

/* Biases that begin with 0 and change with the load alone (passes/balance.c). */
static Value *balance(Graph *g, const Moe *m)
{
    const Dim d = { .size = moe_all_experts(m) };
    if (!moe_has_biases(m)) return NULL;
    Value *v = layer_param(g, "router", "balance", 1, &d, ROLE_TOKEN, (Init){ .kind = INIT_ZEROS });
    v->is_frozen = true;
    return v;
}

Value *moe_bias_of(const Graph *g, const Value *load)
{
    return graph_find(g, load->name + strlen(LOAD ".grad."));
}

/* Of every token. */
static Value *shared_expert(Graph *g, Value *x, const Moe *m)
{
    const Linear one = { 1, NULL, "embed", false, ROLE_LINEAR };
    graph_enter(g, "shared", -1);
    Value *y = m->is_plain
                   ? plain_mlp(g, x, m->activation, m->shared_hidden, false)
                   : gated_mlp(g, x, m->activation, m->shared_hidden, false, 1, m->gate_bound);
    if (m->shared_gate)
        y = sigmoid_gate(g, y, reshape(g, "bso->b(so)", NULL, linear(g, "gate", x, &one)));
    graph_leave(g);
    return multiplied(g, y, m->shared_factor != 0 ? m->shared_factor : 1);
}

/* Weights [b s k] of experts times what each has learned. */
static Value *scaled_weights(Graph *g, const Moe *m, Value *weight, Value *expert)
{
    const Dim d = { .size = moe_all_experts(m) };
    if (!m->expert_scale) return weight;
    Value *scale =
        layer_param(g, "router", "scale", 1, &d, ROLE_TOKEN, (Init){ .kind = INIT_ONES });
    Value *of_pair = embed(g, expert, reshape(g, "e->eo", "o=1", scale));
    return mul(g, weight, reshape(g, "bsko->bs(ko)", NULL, of_pair));
}

/* What experts read of x. */
static Value *into_latent(Graph *g, Value *x, const Moe *m)
{
    const Linear in = { m->latent, NULL, "embed", false, ROLE_LINEAR };
    return m->latent ? linear(g, "latent_in", x, &in) : x;
}

/* What they give y, as wide as x. */
static Value *out_of_latent(Graph *g, Value *y, const Value *x, const Moe *m)
{
    const Linear out = { value_width(x), "embed", NULL, false, ROLE_RESIDUAL };
    return m->latent ? linear(g, "latent_out", y, &out) : y;
}

static Value *experts_of_ids(Graph *g, const Moe *m, const MoeIds *by_id)
{
    const Dim d[] = { { .size = by_id->vocab_size }, { .size = m->top_k } };
    const Init choices = { .kind = INIT_CHOICES,
                           .columns = m->top_k,
                           .high = (double)moe_all_experts(m) };
    Value *table = layer_param(g, "router", "experts", 2, d, ROLE_TOKEN, choices);
    table->is_frozen = true;
    return moe_hash(g, by_id->ids, table, moe_all_experts(m));
}

/* Weights of a token's experts, which *expert gives. */
static Value *routed_to(Graph *g, const Moe *m, const MoeIds *by_id, Value *logits, Value *bias,
                        Value **expert)
{
    const MoeMixer mixer = { .top_k = m->top_k, .near = m->near };
    const MoeRoute route = { .top_k = m->top_k,
                             .sigmoid = m->score == SCORE_SIGMOID,
                             .sqrt_softplus = m->score == SCORE_SQRT_SOFTPLUS,
                             .by_logits = m->by_logits && bias,
                             .normalize = m->normalize,
                             .sum_eps = m->sum_eps,
                             .factor = m->factor != 0 ? m->factor : 1,
                             .n_groups = m->n_groups,
                             .top_groups = m->top_groups };
    if (m->score == SCORE_MIXER) return moe_mixer(g, logits, &mixer, expert);
    if (!by_id) return moe_route(g, logits, bias, &route, expert);
    *expert = experts_of_ids(g, m, by_id);
    return moe_weigh(g, logits, *expert, &route);
}

Value *moe_layer(Graph *g, Value *x, Value *routed, const Moe *m, const MoeIds *by_id,
                 MoeSums *sums)
{
    Moe limited = *m;
    if (sums->continues) limited.capacity = 0;
    const Linear router = { moe_all_experts(m), NULL, "embed", m->bias, ROLE_LINEAR };
    Value *logits = linear(g, "router", routed, &router), *bias = by_id ? NULL : balance(g, m);
    if (m->logit_cap > 0) logits = logit_cap(g, logits, m->logit_cap);
    Value *expert, *dropped = NULL;
    Value *weight = routed_to(g, m, by_id, logits, bias, &expert), *taken = expert;
    weight = scaled_weights(g, m, weight, expert);
    if (bias && m->balance_rate > 0 && sums->training)
        moe_count(g, expert, graph_accumulator_named(g, LOAD, bias));
    const MoeLimit limit = { m->n_experts, m->zero_experts, limited.capacity,
                             m->overflow == OVERFLOW_STOPS };
    if (limited.capacity > 0) taken = moe_limit(g, expert, &limit, &dropped);
    const MoeRows rows = moe_rows(g, taken, m->n_experts, m->zero_experts);
    Value *of_token = into_latent(g, x, m);
    Value *read = m->weigh_inputs ? moe_gather_weighted(g, of_token, weight, &rows)
                                  : moe_gather(g, of_token, &rows);
    Value *y = run_experts(g, read, &limited, &rows);
    y = moe_combine(g, y, m->weigh_inputs ? fill(g, weight, 1) : weight, &rows);
    y = out_of_latent(g, y, x, m);
    if (m->zero_experts) y = add(g, y, moe_identity(g, x, weight, expert, m->n_experts));
    if (m->shared_hidden) y = add(g, y, shared_expert(g, x, m));
    if (by_id) { /* what is not chosen cannot be more even */
        if (dropped) add_up(g, &sums->dropped, dropped);
        return y;
    }
    add_sums(g, m, sums, logits, expert, dropped);
    if (sums->inspect)
        graph_output(g, arena_printf(g->arena, "router_logits.%d", g->place[g->block].index),
                     reshape(g, "bse->(bs)e", NULL, logits));
    return y;
}

const char *moe_groups_wrong(const Moe *m)
{
    const int64_t n = m->n_groups, size = n ? m->n_experts / n : m->n_experts,
                  least = m->score == SCORE_SOFTMAX ? 1 : 2;
    if (n && m->zero_experts) return "experts without weights are in no group";
    if (n > MOST_EXPERT_GROUPS) return "there are more than 64 groups of experts";
    if (n && (m->n_experts % n || size < least))
        return "groups must be of equal size, of at least two experts where scores are of single "
               "logits";
    if (n ? m->top_groups < 1 || m->top_groups > n : m->top_groups != 0)
        return "a token's experts must be chosen from at least one of the groups";
    if (n && m->top_k > m->top_groups * size)
        return "the groups that are chosen have fewer experts than a token";
    return NULL;
}

const char *moe_share_name(Arena *a, int64_t expert)
{
    return arena_printf(a, "expert_share.%lld", (long long)expert);
}

static void give_load(Graph *g, const Moe *m, const MoeSums *sums, const ForwardSettings *f)
{
    for (int64_t i = 0; i < moe_all_experts(m); i++)
        graph_output(g, moe_share_name(g->arena, i), moe_element(g, sums->share, i));
    if (sums->dropped)
        graph_output(g, MOE_DROPPED, scale(g, sums->dropped, 1 / (double)(f->batch * f->sequence)));
}

void moe_finish(Graph *g, const Moe *m, const MoeSums *sums, const ForwardSettings *f,
                ModelOutput *out)
{
    if (!sums->n_layers) return; /* all layers are dense */
    if (f->training) give_load(g, m, sums, f);
    Value *aux = moe_balance(g, sums->share, sums->probability, sums->n_layers);
    if (f->inspect) {
        graph_output(g, "aux_loss", aux);
        return;
    }
    if (m->aux_loss > 0) add_up(g, &out->penalty, scale(g, aux, m->aux_loss));
    if (sums->z) add_up(g, &out->penalty, scale(g, sums->z, m->z_loss / (double)sums->n_layers));
}
