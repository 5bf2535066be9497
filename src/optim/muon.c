/* muon.c - optimizer.muon (Jordan et al. 2024): momentum whose matrices are made nearly orthogonal
 * by steps of Newton and Schulz, X <- a X + (b X X' + c (X X')^2) X.
 *
 * A step needs the whole matrix. Where several ranks have parts or copies of matrices of one shape,
 * each of them gets one of these whole, computes it, and gives all their parts back: states and the
 * update stay where the parameter is. A matrix that has no like is gathered and computed by all. */
#include "ops/muon.h"
#include "base/json.h"
#include "comm/groups.h"
#include "config/builder.h"
#include "graph/split.h"
#include "ops/collective.h"
#include "ops/contract.h"
#include "ops/stack.h"
#include "optim/param_groups.h"
#include "optim/weight_decay.h"

enum { ORIGINAL, MATCH_RMS_ADAMW, NO_SCALE };
static const char *const scales[] = { "original", "match_rms_adamw", "none", NULL };

typedef struct Settings {
    double lr;
    struct Model *wrapped_model;
    double momentum;
    bool nesterov;
    double weight_decay;
    StringList weight_decay_groups_excluded;
    FloatList ns_coefficients;
    int64_t ns_steps;
    double eps;
    int adjust_lr_fn;
} Settings;

typedef struct Muon {
    Optimizer base;
    const Settings *settings;
} Muon;

/* How the parts of a dimension come together: those of all inner axes at once, behind which their
 * padding lies, then those of the outermost. */
typedef struct Steps {
    unsigned axes[2];
    int n;
} Steps;

static Steps steps_of(const Dim *d)
{
    Steps s = { .n = 0 };
    if (dim_inner_axes(d)) s.axes[s.n++] = dim_inner_axes(d);
    if (d->mesh[0]) s.axes[s.n++] = 1u << d->mesh[0];
    return s;
}

/* Of a stack of matrices each rank keeps its own. */
static Value *gather_whole(Graph *g, Value *x)
{
    for (int d = x->n_dims - 2; d < x->n_dims; d++) {
        const Steps s = steps_of(&x->dim[d]);
        for (int i = 0; i < s.n; i++) x = all_gather(graph_from(g, HERE), x, d, s.axes[i]);
    }
    return x;
}

/* This rank's part of whole matrices. */
static Value *take_part(Graph *g, Value *x, const Value *like)
{
    for (int d = x->n_dims - 2; d < x->n_dims; d++)
        x = slice_as(graph_from(g, HERE), x, d, &like->dim[d]);
    return x;
}

/* On the shorter side the products are smaller: X X' of a wide matrix, X' X of a tall one. */
static Value *orthogonal(Graph *g, Value *x, const Settings *s)
{
    const int64_t rows = x->dim[x->n_dims - 2].size, columns = x->dim[x->n_dims - 1].size;
    const bool many = x->n_dims == 3, tall = rows > columns;
    const char *gram = many   ? tall ? "ekm,ekn->emn" : "emk,enk->emn"
                       : tall ? "km,kn->mn"
                              : "mk,nk->mn";
    const char *square = many ? "emk,enk->emn" : "mk,nk->mn"; /* of a symmetric matrix */
    const char *apply = many ? "emk,ekn->emn" : "mk,kn->mn";
    const double *c = s->ns_coefficients.item;
    x = unit_matrix(g, x, s->eps);
    for (int64_t i = 0; i < s->ns_steps; i++) {
        Value *a = contract(g, gram, x, x);
        Value *b = blend(g, c[1], a, c[2], contract(g, square, a, a));
        x = blend(g, c[0], x, 1, tall ? contract(g, apply, x, b) : contract(g, apply, b, x));
    }
    return x;
}

static double scale_of(const Settings *s, const Value *param)
{
    const double rows = (double)param->dim[param->n_dims - 2].size,
                 columns = (double)param->dim[param->n_dims - 1].size;
    switch (s->adjust_lr_fn) {
    case ORIGINAL:
        return sqrt(fmax(1, rows / columns));
    case MATCH_RMS_ADAMW:
        return 0.2 * sqrt(fmax(rows, columns));
    default:
        return 1;
    }
}

static Value *direction_of(const Settings *s, Graph *g, Value *param, Value *factor)
{
    const MuonMomentum momentum = { s->momentum, s->nesterov };
    const char *name = arena_printf(g->arena, "momentum_buffer.%s", param->name);
    Value *buffer = graph_state(g, name, param->dtype, param->n_dims, param->dim);
    return muon_momentum(g, param->grad, buffer, factor, &momentum);
}

static void follow(const Settings *s, Graph *g, Value *param, Value *direction,
                   const ParamGroup *group)
{
    const MuonUpdate by = { group->weight_decay, scale_of(s, param), group->number };
    muon_update(g, param, direction, &by);
}

static void update(const Optimizer *self, Graph *g, Value *param, Value *grad, Value *factor,
                   const ParamGroup *group)
{
    const Settings *s = ((const Muon *)self)->settings;
    CHECK(grad == param->grad);
    Value *direction = direction_of(s, g, param, factor);
    direction = orthogonal(g, gather_whole(g, direction), s);
    follow(s, g, param, take_part(g, direction, param), group);
}

/* ---- matrices that ranks divide among them ---- */

/* Axes along which ranks have parts or copies of a matrix: all but the pipeline's. */
static unsigned axes_of(const Graph *g)
{
    return g->mesh ? mesh_live_axes(g->mesh) & ~(1u << MESH_PP) : 0;
}

static bool is_like(const Value *x, const Value *y)
{
    bool same = x->n_dims == 2 && y->n_dims == 2;
    for (int d = 0; same && d < 2; d++)
        same = x->dim[d].size == y->dim[d].size && dim_is_split_as(&x->dim[d], &y->dim[d]);
    return same;
}

/* A stack [n rows columns], whose matrices lie as `like` does: of n ranks each gets one whole. The
 * axes that had parts of it are given to the stack, the innermost of them first; then those that
 * had copies. */
static Value *give_each_one(Graph *g, Value *x, const Value *like)
{
    unsigned left = axes_of(g);
    for (int d = 0; d < 2; d++) {
        const Steps s = steps_of(&like->dim[d]);
        for (int i = 0; i < s.n; i++) {
            x = all_to_all(graph_from(g, HERE), x, d + 1, 0, s.axes[i]);
            left &= ~s.axes[i];
        }
    }
    return left ? slice(graph_from(g, HERE), x, 0, left) : x;
}

/* The way back. */
static Value *take_back(Graph *g, Value *x, const Value *like)
{
    unsigned copies = axes_of(g);
    const Steps steps[] = { steps_of(&like->dim[0]), steps_of(&like->dim[1]) };
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < steps[d].n; i++) copies &= ~steps[d].axes[i];
    if (copies) x = all_gather(graph_from(g, HERE), x, 0, copies);
    for (int d = 1; d >= 0; d--)
        for (int i = steps[d].n - 1; i >= 0; i--) {
            x = all_to_all(graph_from(g, HERE), x, 0, d + 1, steps[d].axes[i]);
            dim_lie_as(&x->dim[d + 1], &like->dim[d]);
        }
    return x;
}

/* Matrices that are alike, at most as many as ranks; those without one compute the last again. */
static void update_divided(const Settings *s, Graph *g, int n, Value *const *param, Value *factor,
                           const ParamGroup *const *group)
{
    const int n_ranks = (int)mesh_ranks_along(g->mesh, axes_of(g));
    Value **direction = NEW_N(g->arena, Value *, n_ranks);
    for (int k = 0; k < n_ranks; k++)
        direction[k] = k < n ? direction_of(s, g, param[k], factor) : direction[n - 1];
    Value *all = stack_matrices(g, n_ranks, direction);
    all = orthogonal(g, give_each_one(g, all, param[0]), s);
    unstack_matrices(g, take_back(g, all, param[0]), direction);
    for (int k = 0; k < n; k++) follow(s, g, param[k], direction[k], group[k]);
}

/* Parameters in the order of their first alike; each has its turn once. */
static void update_all(const Optimizer *self, Graph *g, int64_t n, Value *const *param,
                       Value *factor, const ParamGroup *group)
{
    const Settings *s = ((const Muon *)self)->settings;
    const int64_t n_ranks = g->mesh ? mesh_ranks_along(g->mesh, axes_of(g)) : 1;
    bool *done = NEW_N(g->arena, bool, n);
    Value **alike = NEW_N(g->arena, Value *, n_ranks);
    const ParamGroup **of_alike = NEW_N(g->arena, const ParamGroup *, n_ranks);
    for (int64_t i = 0; i < n; i++) {
        int k = 0;
        if (done[i]) continue;
        for (int64_t j = i; j < n && k < n_ranks; j++) {
            if (done[j] || (j > i && !is_like(param[i], param[j]))) continue;
            done[j] = true;
            alike[k] = param[j];
            of_alike[k++] = &group[j];
        }
        if (k == 1)
            update(self, g, param[i], param[i]->grad, factor, &group[i]);
        else
            update_divided(s, g, k, alike, factor, of_alike);
    }
}

static Error *accepts(const Optimizer *self, const Value *param)
{
    (void)self;
    if (param->n_dims == 2 || param->n_dims == 3) return NULL;
    return error_new("optimizer.muon updates matrices, but %s has %d dimension%s; "
                     "optimizer.combined gives @matrices to it and the rest to another one",
                     param->name, param->n_dims, param->n_dims == 1 ? "" : "s");
}

static void torch_group(const Optimizer *self, double lr, double beta1, double weight_decay,
                        Text *out)
{
    const Settings *s = ((const Muon *)self)->settings;
    (void)beta1;
    text_puts(out, "\"lr\": ");
    text_json_double(out, lr);
    text_puts(out, ", \"weight_decay\": ");
    text_json_double(out, weight_decay);
    text_puts(out, ", \"momentum\": ");
    text_json_double(out, s->momentum);
    text_printf(out, ", \"nesterov\": %s, \"ns_coefficients\": {\"tuple\": [",
                s->nesterov ? "true" : "false");
    for (int i = 0; i < 3; i++) {
        if (i) text_puts(out, ", ");
        text_json_double(out, s->ns_coefficients.item[i]);
    }
    text_puts(out, "]}, \"eps\": ");
    text_json_double(out, s->eps);
    text_printf(out, ", \"ns_steps\": %lld, \"adjust_lr_fn\": \"%s\"", (long long)s->ns_steps,
                scales[s->adjust_lr_fn]);
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    Arena *a = builder_arena(b);
    Muon *o = NEW(a, Muon);
    *o = (Muon){ .base = { .update = update,
                           .update_all = update_all,
                           .name = builder_self(b)->variant,
                           .lr = s->lr,
                           .weight_decay = s->weight_decay,
                           .excluded = excluded_groups(a, &s->weight_decay_groups_excluded),
                           .accepts = accepts,
                           .torch_group = torch_group,
                           .model = s->wrapped_model },
                 .settings = s };
    *out = o;
    return weight_decay_check(&o->base);
}

/* clang-format off */
static const Field fields[] = {
    FIELD_FLOAT(Settings, lr, NULL, 0, INFINITY, "learning rate that schedulers start from"),
    FIELD_COMPONENT(Settings, wrapped_model, struct Model, "model", NULL, "whose matrices are updated", .alias = "model_parts", .flags = FIELD_MAPS),
    FIELD_FLOAT(Settings, momentum, "0.95", 0, 1, "decay of the momentum", .flags = FIELD_OPEN_MAX),
    FIELD_BOOL(Settings, nesterov, "true", "look ahead along the momentum"),
    FIELD_FLOAT(Settings, weight_decay, "0.1", 0, INFINITY, "decoupled decay of the matrices"),
    FIELD_STRINGS(Settings, weight_decay_groups_excluded, "[]", 0, 0, "groups without decay: linear, embedding, layernorm"),
    FIELD_FLOATS(Settings, ns_coefficients, "[3.4445, -4.775, 2.0315]", 3, 3, "a, b and c of a Newton-Schulz step"),
    FIELD_INT(Settings, ns_steps, "5", 1, 99, "Newton-Schulz steps"),
    FIELD_FLOAT(Settings, eps, "1e-7", 0, INFINITY, "the least norm that a matrix is divided by", .flags = FIELD_OPEN_MIN),
    FIELD_CHOICE(Settings, adjust_lr_fn, "original", scales, "factor of the rate: original sqrt(max(1, rows/columns)); match_rms_adamw 0.2 sqrt(max(rows, columns)), for the rates of AdamW; none 1"),
    { 0 },
};
/* clang-format on */

const ComponentDef optimizer_muon = {
    .kind = "optimizer",
    .variant = "muon",
    .doc = "Muon: momentum made nearly orthogonal, for matrices; as torch.optim.Muon",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
