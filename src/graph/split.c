/* split.c - splits along letters, partial sums where letters end. */
#include "graph/split.h"
#include "graph/op.h"
#include <string.h>

/* How a slot of a node's dims is split; `said_by` is the input that tells, -1: none yet. */
typedef struct Split {
    uint8_t mesh[MAX_MESH_AXES];
    uint8_t rotation;
    Layout layout;
    bool is_padded;
    int said_by;
} Split;

static Split split_of(const Dim *d, int said_by)
{
    Split s = {
        .rotation = d->rotation, .layout = d->layout, .is_padded = d->is_padded, .said_by = said_by
    };
    memcpy(s.mesh, d->mesh, sizeof s.mesh);
    return s;
}

static bool is_same(const Split *a, const Split *b)
{
    return !memcmp(a->mesh, b->mesh, sizeof a->mesh) && a->rotation == b->rotation &&
           a->layout == b->layout && a->is_padded == b->is_padded;
}

bool dim_is_split_as(const Dim *a, const Dim *b)
{
    const Split one = split_of(a, -1), other = split_of(b, -1);
    return is_same(&one, &other);
}

static const char *split_text(Arena *a, const uint8_t *mesh)
{
    const char *text = mesh[0] ? "split over" : "whole";
    for (int i = 0; i < MAX_MESH_AXES && mesh[i]; i++)
        text = arena_printf(a, "%s %s", text, mesh_axis_names[mesh[i] - 1]);
    return text;
}

static const char *slot_text(Arena *a, int slot)
{
    return slot < N_LETTERS ? arena_printf(a, "'%c'", 'a' + slot)
                            : arena_printf(a, "leading dimension %d", slot - N_LETTERS);
}

/* What input k says of one slot must be what others have said. */
static Error *say(Arena *a, const Node *n, int slot, const Split *said, Split *known)
{
    if (said->mesh[0] && n->dims->whole[slot])
        return error_new("input %d: %s of \"%s\" must be whole, but is %s", said->said_by,
                         slot_text(a, slot), n->dims->text, split_text(a, said->mesh));
    if (known->said_by < 0)
        *known = *said;
    else if (!is_same(known, said))
        return error_new("%s of \"%s\" is %s in input %d, but %s in input %d", slot_text(a, slot),
                         n->dims->text, split_text(a, known->mesh), known->said_by,
                         split_text(a, said->mesh), said->said_by);
    return NULL;
}

static Error *read_inputs(Arena *a, const Node *n, Split *known)
{
    for (int s = 0; s < N_SLOTS; s++) known[s] = (Split){ .said_by = -1 };
    for (int k = 0; k < n->n_in; k++)
        for (int d = 0; d < n->dims->in[k].n_dims; d++) {
            const DimRef *ref = &n->dims->in[k].dim[d];
            for (int i = 0; i < ref->n; i++) {
                Split said = i == 0 ? split_of(&n->in[k]->dim[d], k) : (Split){ .said_by = k };
                TRY(say(a, n, ref->slot[i], &said, &known[ref->slot[i]]));
            }
        }
    return NULL;
}

/* A letter that no input has is split as the results say: they make it anew. */
static void read_results(const Node *n, Split *known)
{
    for (int k = 0; k < n->n_out; k++)
        for (int d = 0; d < n->dims->out[k].n_dims; d++) {
            const DimRef *ref = &n->dims->out[k].dim[d];
            Split *s = &known[ref->slot[0]];
            if (ref->n == 1 && s->said_by < 0 && !n->dims->whole[ref->slot[0]])
                *s = split_of(&n->out[k]->dim[d], -1);
        }
}

/* The reductions that are outstanding in the inputs go on to the results of an op that may be
 * applied to them. */
static Error *read_partial(const Node *n, unsigned *partial)
{
    bool is_sum = n->op->flags & OP_SUM;
    *partial = n->n_in ? n->in[0]->partial : 0;
    for (int k = 0; k < n->n_in; k++) {
        const Value *v = n->in[k];
        bool may_be = n->op->flags & OP_LINEAR && v->reduce == REDUCE_SUM && (is_sum || k == 0);
        if (v->partial && !may_be)
            return error_new("input %d (%s) is a partial %s, which %s cannot take", k, v->name,
                             v->reduce == REDUCE_MAX ? "maximum" : "sum", n->op->name);
        if (is_sum && v->partial != *partial)
            return error_new("a partial sum is added to one over other ranks: input 0 (%s) and "
                             "input %d (%s)",
                             n->in[0]->name, k, v->name);
    }
    return NULL;
}

/* Bits of the mesh axes of slots that the result lacks. */
static unsigned dropped(const Operand *result, const Split *known)
{
    unsigned bits = 0;
    for (int s = 0; s < N_SLOTS; s++)
        for (int i = 0; i < MAX_MESH_AXES && known[s].mesh[i] && !dims_uses(result, s); i++)
            bits |= 1u << known[s].mesh[i];
    return bits;
}

/* The axes over which a node has to complete its results. */
static unsigned axes_to_complete(const Node *n)
{
    unsigned axes = 0;
    for (int r = 0; r < n->n_out; r++)
        for (int k = 0; n->op->completes >> r & 1 && k < n->n_in; k++)
            for (int d = 0; d < n->dims->in[k].n_dims; d++) {
                const DimRef *ref = &n->dims->in[k].dim[d];
                const uint8_t *mesh = n->in[k]->dim[d].mesh;
                if (dims_uses(&n->dims->out[r], ref->slot[0])) continue;
                for (int i = 0; i < MAX_MESH_AXES && mesh[i]; i++) axes |= 1u << mesh[i];
            }
    return axes;
}

static Error *infer_result(Arena *a, const Node *n, int k, const Split *known, unsigned partial,
                           Dim *dim, unsigned *outstanding)
{
    const Operand *o = &n->dims->out[k];
    for (int d = 0; d < o->n_dims; d++) {
        const DimRef *ref = &o->dim[d];
        const Split *s = &known[ref->slot[0]];
        for (int i = 1; i < ref->n; i++)
            if (known[ref->slot[i]].mesh[0])
                return error_new("result %d: %s of \"%s\" is %s, but does not lead its dimension",
                                 k, slot_text(a, ref->slot[i]), n->dims->text,
                                 split_text(a, known[ref->slot[i]].mesh));
        memcpy(dim[d].mesh, s->mesh, sizeof dim[d].mesh);
        dim[d].rotation = s->rotation;
        dim[d].layout = s->layout;
        dim[d].is_padded = s->is_padded;
    }
    unsigned more = dropped(o, known);
    if (n->op->completes >> k & 1) {
        if (more & ~n->axes)
            return error_new("result %d is not complete over the ranks that divide a letter of "
                             "\"%s\"",
                             k, n->dims->text);
        more = 0;
    }
    if (more & partial)
        return error_new("result %d would be a partial sum twice over the same ranks", k);
    *outstanding = partial | more;
    return NULL;
}

/* Calls `use` with what every result should be. */
static Error *each_result(Arena *a, const Node *n,
                          Error *(*use)(const Node *n, int k, const Dim *dim, unsigned outstanding))
{
    Split known[N_SLOTS];
    unsigned partial;
    TRY(read_inputs(a, n, known));
    read_results(n, known);
    TRY(read_partial(n, &partial));
    for (int k = 0; k < n->n_out; k++) {
        Dim dim[MAX_DIMS];
        unsigned outstanding = 0;
        memcpy(dim, n->out[k]->dim, sizeof dim);
        TRY(infer_result(a, n, k, known, partial, dim, &outstanding));
        TRY(use(n, k, dim, outstanding));
    }
    return NULL;
}

static Error *set_result(const Node *n, int k, const Dim *dim, unsigned outstanding)
{
    Value *v = n->out[k];
    if (v->kind != VALUE_RESULT) return NULL;
    memcpy(v->dim, dim, sizeof v->dim);
    v->partial = outstanding;
    return NULL;
}

static Error *compare_result(const Node *n, int k, const Dim *dim, unsigned outstanding)
{
    const Value *v = n->out[k];
    for (int d = 0; d < v->n_dims; d++) {
        const Split want = split_of(&dim[d], 0), have = split_of(&v->dim[d], 0);
        if (!is_same(&want, &have))
            return error_new("result %d (%s): dimension %d is split otherwise than the inputs say",
                             k, v->name, d);
    }
    if (v->kind == VALUE_RESULT && v->partial != outstanding)
        return error_new("result %d (%s) says that reductions %#x are outstanding; they are %#x", k,
                         v->name, v->partial, outstanding);
    return NULL;
}

Error *split_infer(Arena *a, Node *n, const Mesh *mesh)
{
    if (n->op->flags & OP_COMM) return NULL;
    if (n->op->completes) n->axes = axes_to_complete(n);
    TRY(each_result(a, n, set_result));
    for (int k = 0; k < n->n_out; k++) TRY(split_verify_value(n->out[k], mesh));
    return NULL;
}

Error *split_verify(Arena *a, const Node *n, const Mesh *mesh)
{
    for (int k = 0; k < n->n_in; k++) TRY(split_verify_value(n->in[k], mesh));
    for (int k = 0; k < n->n_out; k++) TRY(split_verify_value(n->out[k], mesh));
    return n->op->flags & OP_COMM ? NULL : each_result(a, n, compare_result);
}

static int n_axes(const Dim *d)
{
    int n = 0;
    while (n < MAX_MESH_AXES && d->mesh[n]) n++;
    return n;
}

void dim_join(Dim *d, unsigned axes)
{
    int n = n_axes(d);
    while (n > 0 && axes >> d->mesh[n - 1] & 1) d->mesh[--n] = MESH_NONE;
    for (int i = 0; i < n; i++) CHECK(!(axes >> d->mesh[i] & 1));
    if (n > 0) return;
    d->layout = CONTIGUOUS;
    d->is_padded = false;
}

void dim_divide(Dim *d, MeshAxis axis)
{
    int n = n_axes(d);
    CHECK(n < MAX_MESH_AXES);
    d->mesh[n] = (uint8_t)axis;
}

void dim_divide_over(Dim *d, unsigned axes)
{
    for (MeshAxis m = MESH_PP; m < MESH_N_AXES; m++)
        if (axes >> m & 1) dim_divide(d, m);
}

void dim_lie_as(Dim *d, const Dim *like)
{
    d->layout = like->layout;
    d->is_padded = like->is_padded;
    d->granule = like->granule;
}

unsigned dim_inner_axes(const Dim *d)
{
    unsigned axes = 0;
    for (int i = 1; i < n_axes(d); i++) axes |= 1u << d->mesh[i];
    return axes;
}

int64_t dim_parts(const Dim *d, const Mesh *mesh)
{
    int64_t n = 1;
    for (int i = 0; i < MAX_MESH_AXES && d->mesh[i]; i++) n *= mesh->size[d->mesh[i]];
    return n;
}

static Error *verify_dim(const Value *v, int d, const Mesh *mesh, unsigned *used)
{
    const Dim *x = &v->dim[d];
    int64_t n = dim_parts(x, mesh);
    for (int i = 0; i < MAX_MESH_AXES && x->mesh[i]; i++) {
        if (*used >> x->mesh[i] & 1)
            return error_new("%s uses the mesh axis %s twice", v->name,
                             mesh_axis_names[x->mesh[i] - 1]);
        *used |= 1u << x->mesh[i];
    }
    int64_t pieces = x->layout == ZIGZAG ? 2 * n : n;
    if (x->size / (x->granule ? x->granule : 1) % pieces == 0 ||
        (x->is_padded && x->layout == CONTIGUOUS))
        return NULL;
    return error_new("%s: dimension %d (%s) of %lld does not divide into %lld parts", v->name, d,
                     x->axis ? x->axis : "unnamed", (long long)x->size, (long long)pieces);
}

Error *split_verify_value(const Value *v, const Mesh *mesh)
{
    unsigned used = v->partial;
    for (int d = 0; d < v->n_dims; d++) TRY(verify_dim(v, d, mesh, &used));
    return NULL;
}

/* The first of several axes is the outermost; `rotation` counts along it. */
static Part *part_of(Arena *a, const Dim *d, const Mesh *mesh, int64_t rank)
{
    Part *p = NEW(a, Part);
    int outer = (int)mesh->size[d->mesh[0]];
    int64_t first = (mesh_coordinate(mesh, d->mesh[0], rank) + d->rotation) % outer, rest = 0;
    int n_rest = (int)dim_parts(d, mesh) / outer;
    for (int i = 1; i < MAX_MESH_AXES && d->mesh[i]; i++)
        rest = rest * mesh->size[d->mesh[i]] + mesh_coordinate(mesh, d->mesh[i], rank);
    *p = (Part){ .whole = d->size,
                 .layout = d->layout,
                 .n_parts = outer,
                 .index = (int)first,
                 .n_inner = n_rest,
                 .inner = (int)rest };
    return p;
}

Tensor value_part(Arena *a, const Value *v, const Mesh *mesh, int64_t rank)
{
    Tensor t = { .dtype = v->dtype, .n_dims = v->n_dims };
    for (int d = 0; d < v->n_dims; d++) {
        t.size[d] = v->dim[d].size;
        if (!v->dim[d].mesh[0]) continue;
        const Part *p = t.part[d] = part_of(a, &v->dim[d], mesh, rank);
        int64_t outer = (p->whole + p->n_parts - 1) / p->n_parts;
        t.size[d] = (outer + p->n_inner - 1) / p->n_inner;
    }
    return t;
}
