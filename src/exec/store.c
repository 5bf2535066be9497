/* store.c - named tensors in a few large pieces of device memory. */
#include "exec/store.h"
#include "graph/op.h"
#include "graph/split.h"
#include <string.h>

enum { ALIGN = 512 }; /* disks take from there what is saved without copying it */

typedef struct Piece {
    Device *device;
    void *ptr;
    size_t bytes;
} Piece;

struct Workspace {
    Piece piece;
};

static void release_piece(void *arg)
{
    Piece *p = arg;
    if (p->ptr) p->device->release(p->device, p->ptr, p->bytes);
}

ParamStore *store_new(Device *d)
{
    Arena *a = arena_new();
    ParamStore *s = NEW(a, ParamStore);
    *s = (ParamStore){ .arena = a,
                       .device = d,
                       .by_name = map_new(a),
                       .elsewhere = map_new(a),
                       .left_out = map_new(a),
                       .version = 1 };
    return s;
}

void store_free(ParamStore *s)
{
    if (!s) return;
    if (s->stream) s->device->stream_free(s->device, s->stream);
    arena_free(s->arena);
}

void store_leave(ParamStore *s, StoreFinish *finish, void *program)
{
    s->finish = finish;
    s->left_by = program;
}

Error *store_settle(ParamStore *s, const void *except)
{
    StoreFinish *finish = s->finish;
    if (!finish || s->left_by == except) return NULL;
    s->finish = NULL;
    return finish(s->left_by);
}

void store_guard(ParamStore *s, StoreGuard *guard, void *context)
{
    s->guard = guard;
    s->guard_context = context;
}

Error *store_before_change(const ParamStore *s)
{
    return s->guard ? s->guard(s->guard_context) : NULL;
}

Error *store_reserve(ParamStore *s, size_t bytes)
{
    if (!s->workspace) {
        s->workspace = NEW(s->arena, struct Workspace);
        s->workspace->piece.device = s->device;
        arena_on_free(s->arena, release_piece, &s->workspace->piece);
    }
    Piece *p = &s->workspace->piece;
    if (bytes <= p->bytes) return NULL;
    TRY(store_settle(s, NULL));
    release_piece(p);
    *p = (Piece){ .device = s->device };
    TRY(s->device->alloc(s->device, bytes, &p->ptr));
    p->bytes = bytes;
    return NULL;
}

char *store_workspace(const ParamStore *s, size_t *bytes)
{
    *bytes = s->workspace ? s->workspace->piece.bytes : 0;
    return s->workspace ? s->workspace->piece.ptr : NULL;
}

Stored *store_find(const ParamStore *s, const char *name)
{
    return map_get(s->by_name, str_of(name));
}
int64_t store_count(const ParamStore *s)
{
    return s->by_name->n;
}
Stored *store_at(const ParamStore *s, int64_t i)
{
    return s->by_name->entry[i].value;
}

const char *store_derived_name(Arena *a, const Value *v)
{
    if (!v->from) return v->name;
    const Node *n = v->from;
    Text t = { 0 };
    text_printf(&t, "%s(", n->op->name);
    for (int k = 0; k < n->n_in; k++)
        text_printf(&t, "%s%s", k ? ", " : "", store_derived_name(a, n->in[k]));
    text_printf(&t, ")%s:%s", n->dims->text, dtype_name(v->dtype));
    for (int d = 0; d < v->n_dims; d++) text_printf(&t, " %lld", (long long)v->dim[d].size);
    graph_attrs_text(n, &t);
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k] == v) text_printf(&t, " #%d", k);
    char *name = arena_string(a, t.ptr);
    text_free(&t);
    return name;
}

ValueKind stored_accounted(const Stored *x)
{
    return x->is_low ? VALUE_PARAM : x->kind;
}

size_t store_halves(const ParamStore *s)
{
    size_t bytes = 0;
    for (int64_t i = 0; i < store_count(s); i++) {
        const Stored *x = store_at(s, i);
        if (x->low) bytes += tensor_bytes(&x->tensor) + tensor_bytes(&x->low->tensor);
    }
    return bytes;
}

bool store_holds(const Value *v)
{
    if (v->kind == VALUE_RESULT) return v->from->phase == PREPARE;
    return v->kind != VALUE_INPUT;
}

Tensor value_tensor(Arena *a, const Graph *g, const Value *v)
{
    return value_part(a, v, g->mesh, g->mesh ? g->mesh->rank : 0);
}

static bool is_same_part(const Part *a, const Part *b)
{
    if (!a || !b) return a == b;
    return a->whole == b->whole && a->n_parts == b->n_parts && a->index == b->index &&
           a->layout == b->layout && a->n_inner == b->n_inner && a->inner == b->inner;
}

static Error *check_same(const Stored *s, const Tensor *t)
{
    bool same = s->tensor.dtype == t->dtype && s->tensor.n_dims == t->n_dims;
    for (int d = 0; same && d < t->n_dims; d++)
        same = s->tensor.size[d] == t->size[d] && is_same_part(s->tensor.part[d], t->part[d]);
    if (same) return NULL;
    return error_new("%s is used with two shapes, dtypes or splits", s->name);
}

static bool is_live(const Graph *g, const Value *v)
{
    if (v->kind != VALUE_RESULT) return true;
    for (int64_t i = 0; i < g->n_nodes; i++)
        if (g->node[i] == v->from) return true;
    return false;
}

static bool needs_params(const Value *v)
{
    if (!v->from) return true;
    for (int k = 0; k < v->from->n_in; k++)
        if (needs_params(v->from->in[k])) return true;
    return false;
}

Tensor stored_numbers(const Stored *x)
{
    Tensor t = x->tensor;
    if (x->low) t.dtype = F32;
    return t;
}

/* Where the high half of a parameter is, the low one follows at once. */
static size_t room_for(const Stored *x)
{
    const Tensor t = stored_numbers(x);
    return x->is_low ? 0 : (tensor_bytes(&t) + ALIGN - 1) / ALIGN * ALIGN;
}

static void note_elsewhere(ParamStore *s, const Graph *g)
{
    for (int64_t i = 0; i < g->n_left_out; i++)
        map_set(s->left_out, str_of(arena_string(s->arena, g->left_out[i])), s);
    for (int64_t i = 0; i < g->n_elsewhere; i++) {
        const Value *v = g->elsewhere[i];
        if (map_has(s->elsewhere, str_of(v->name))) continue;
        Tensor *t = NEW(s->arena, Tensor);
        *t = (Tensor){ .dtype = v->dtype, .n_dims = v->n_dims };
        for (int d = 0; d < v->n_dims; d++) t->size[d] = v->dim[d].size;
        map_set(s->elsewhere, str_of(arena_string(s->arena, v->name)), t);
    }
}

static void note_low(const ParamStore *s, const Graph *g)
{
    for (int64_t i = 0; i < g->n_values; i++)
        if (g->value[i]->low)
            store_find(s, g->value[i]->name)->low = store_find(s, g->value[i]->low->name);
}

Error *store_add(ParamStore *s, const Graph *g)
{
    note_elsewhere(s, g);
    for (int64_t i = 0; i < g->n_values; i++) {
        const Value *v = g->value[i];
        if (!store_holds(v) || !is_live(g, v)) continue;
        const char *name = store_derived_name(s->arena, v);
        Tensor t = value_tensor(s->arena, g, v);
        Stored *old = store_find(s, name);
        if (old) {
            TRY(check_same(old, &t));
            continue;
        }
        Stored *new = NEW(s->arena, Stored);
        *new = (Stored){ .name = arena_string(s->arena, name),
                         .kind = v->kind,
                         .init = v->init,
                         .is_low = v->is_low,
                         .is_cache = v->is_cache,
                         .is_frozen = v->is_frozen,
                         .tensor = t,
                         .is_constant = v->kind == VALUE_RESULT && !needs_params(v) };
        map_set(s->by_name, str_of(new->name), new);
    }
    note_low(s, g);
    return NULL;
}

size_t store_missing(const ParamStore *s)
{
    size_t bytes = 0;
    for (int64_t i = 0; i < store_count(s); i++)
        if (!store_at(s, i)->tensor.data) bytes += room_for(store_at(s, i));
    return bytes;
}

Error *store_allocate(ParamStore *s)
{
    size_t bytes = store_missing(s);
    if (!bytes) return NULL;
    Piece *p = NEW(s->arena, Piece);
    *p = (Piece){ .device = s->device, .bytes = bytes };
    TRY(s->device->alloc(s->device, bytes, &p->ptr));
    arena_on_free(s->arena, release_piece, p);
    s->bytes += bytes;
    char *at = p->ptr;
    for (int64_t i = 0; i < store_count(s); i++) {
        Stored *x = store_at(s, i);
        if (x->tensor.data || x->is_low) continue;
        x->tensor.data = at;
        if (x->low) x->low->tensor.data = at + tensor_bytes(&x->tensor);
        at += room_for(x);
    }
    return NULL;
}

/* A stream of its own: programs come and go. */
Error *store_stream(ParamStore *s, Stream **out)
{
    if (!s->stream) TRY(s->device->stream_new(s->device, false, &s->stream));
    *out = s->stream;
    return NULL;
}

void store_changed(ParamStore *s)
{
    s->version++;
}

Error *store_view(ParamStore *s, const Tensor *t, bool read, Arena *a, Tensor *out)
{
    Stream *stream;
    const void *there = t->data; /* out may be t */
    *out = *t;
    TRY(store_settle(s, NULL));
    if (s->device->is_host) return NULL;
    TRY(store_stream(s, &stream));
    out->data = arena_alloc(a, tensor_bytes(t));
    return read ? device_copy_now(s->device, out->data, there, tensor_bytes(t), stream) : NULL;
}

Error *store_put(ParamStore *s, const Tensor *t, const Tensor *view)
{
    Stream *stream;
    TRY(store_settle(s, NULL));
    if (view->data == t->data) return NULL;
    TRY(store_stream(s, &stream));
    return device_copy_now(s->device, t->data, view->data, tensor_bytes(t), stream);
}

Error *store_copy(ParamStore *s, const Tensor *to, size_t at, const Tensor *from, size_t bytes)
{
    Stream *stream;
    TRY(store_settle(s, NULL));
    TRY(store_stream(s, &stream));
    return device_copy_now(s->device, (char *)to->data + at, from->data, bytes, stream);
}

Error *store_clear_gradients(ParamStore *s)
{
    Stream *stream;
    TRY(store_stream(s, &stream));
    for (int64_t i = 0; i < store_count(s); i++) {
        const Stored *p = store_at(s, i);
        if (p->kind == VALUE_ACCUMULATOR)
            TRY(s->device->clear(s->device, p->tensor.data, tensor_bytes(&p->tensor), stream));
    }
    return s->device->synchronize(s->device, stream);
}
