/* torch_nested.c - the pickle of one file with all of a checkpoint. */
#include "checkpoint/torch_nested.h"
#include "base/map.h"
#include "checkpoint/part_plan.h"
#include "checkpoint/torch_groups.h"
#include <inttypes.h>
#include <string.h>

/* A dict, a list (whose keys are 0, 1 ...), or a value. */
typedef struct Branch {
    Map *child;
    bool is_list;
    int64_t piece; /* a tensor; -1: none */
    const Pickle *value;
} Branch;

struct TorchNested {
    Arena *arena;
    const NamedTensor *piece;
    int64_t n;
    bool is_flat; /* parameters alone */
    Branch *root;
};

static Branch *branch_new(Arena *a)
{
    Branch *b = NEW(a, Branch);
    b->piece = -1;
    return b;
}

static Branch *child_of(Arena *a, Branch *b, Str key, bool is_index)
{
    if (!b->child) {
        b->child = map_new(a);
        b->is_list = is_index;
    }
    Branch *child = map_get(b->child, key);
    if (!child) map_set(b->child, key, child = branch_new(a));
    return child;
}

/* app.model.X is app, model, X, whatever dots X has. */
static Branch *place_of(Arena *a, Branch *b, const char *name)
{
    for (int i = 0; name; i++) {
        const char *dot = i < 2 ? strchr(name, '.') : NULL;
        b = child_of(a, b, (Str){ name, dot ? (size_t)(dot - name) : strlen(name) }, false);
        name = dot ? dot + 1 : NULL;
    }
    return b;
}

static Branch *place_of_object(Arena *a, Branch *b, const CheckpointObject *o)
{
    if (!o->path || str_starts(str_of(o->name), "app.optimizer.")) return place_of(a, b, o->name);
    for (int64_t i = 0; i < o->path->n; i++) {
        const Pickle *p = o->path->item[i];
        bool is_index = p->kind == PICKLE_INT;
        Str key = is_index ? str_of(arena_printf(a, "%" PRId64, p->integer)) : p->text;
        b = child_of(a, b, key, is_index);
    }
    return b;
}

TorchNested *torch_nested(Arena *a, const NamedTensor *piece, int64_t n,
                          const CheckpointObject *object, int64_t n_objects)
{
    TorchNested *t = NEW(a, TorchNested);
    *t = (TorchNested){
        .arena = a, .piece = piece, .n = n, .is_flat = n_objects == 0, .root = branch_new(a)
    };
    for (int64_t i = 0; i < n; i++) {
        t->is_flat = t->is_flat && str_starts(str_of(piece[i].name), "app.model.");
        place_of(a, t->root, piece[i].name)->piece = i;
    }
    for (int64_t i = 0; i < n_objects; i++)
        place_of_object(a, t->root, &object[i])->value = object[i].value;
    return t;
}

static void put(const TorchNested *t, const Branch *b, PickleWriter *w)
{
    if (b->piece >= 0) {
        torch_put_tensor(w, &t->piece[b->piece].tensor, b->piece);
        return;
    }
    if (!b->child) {
        pickle_put(w, b->value);
        return;
    }
    PickleKind kind = b->is_list ? PICKLE_LIST : PICKLE_DICT;
    pickle_begin(w, kind);
    for (int64_t i = 0; i < b->child->n; i++) {
        if (!b->is_list) pickle_put_text(w, b->child->entry[i].key);
        put(t, b->child->entry[i].value, w);
    }
    pickle_finish(w, kind);
}

void torch_nested_put(void *context, PickleWriter *w)
{
    const TorchNested *t = context;
    if (t->is_flat)
        torch_groups_put_model(torch_groups(t->arena, t->piece, t->n, NULL, 0), w);
    else
        put(t, t->root, w);
}
