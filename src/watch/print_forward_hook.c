/* print_forward_hook.c - model_debugging_hook.print_forward_hook: the forward pass on stdout. */
#include "config/builder.h"
#include "models/model.h"
#include "watch/watch.h"
#include <stdio.h>

typedef struct Settings {
    Model *model;
    bool print_shape_only;
} Settings;

typedef struct PrintHook {
    Watch base;
    bool shape_only;
} PrintHook;

static void put_shapes(Text *t, const Tensor *x, int n)
{
    text_putc(t, '[');
    for (int k = 0; k < n; k++) {
        text_puts(t, k ? ", [" : "[");
        for (int d = 0; d < x[k].n_dims; d++)
            text_printf(t, d ? ", %lld" : "%lld", (long long)x[k].size[d]);
        text_putc(t, ']');
    }
    text_putc(t, ']');
}

/* The first and the last elements, as torch shortens them. */
static void put_numbers(Text *t, const Tensor *x)
{
    enum { EDGE = 3 };
    int64_t n = tensor_count(x);
    text_putc(t, '[');
    for (int64_t i = 0; i < n; i++) {
        if (n > 2 * EDGE && i == EDGE) {
            text_puts(t, " ...,");
            i = n - EDGE;
        }
        text_printf(t, "%s%.6g%s", i ? " " : "", dtype_get(x->dtype, x->data, i),
                    i < n - 1 ? "," : "");
    }
    text_printf(t, "] %s\n", dtype_name(x->dtype));
}

static Error *put_tensors(const NodeRun *x, const Tensor *t, int n, const char *what, Text *out)
{
    Arena *a = arena_new();
    Error *e = NULL;
    text_printf(out, ">>> %s:\n", what);
    for (int k = 0; !e && k < n; k++) {
        Tensor host;
        e = node_tensor(x, &t[k], a, &host);
        if (!e) put_numbers(out, &host);
    }
    arena_free(a);
    return e;
}

static Error *on_node(Watch *self, const NodeRun *x)
{
    if (x->node->phase != FORWARD) return NULL;
    const Launch *l = x->launch;
    Arena *a = arena_new();
    Text t = { 0 };
    Error *e = NULL;
    text_printf(&t, "Module: %s, Path: %s, Input shapes: ", x->node->op->name,
                node_module(a, x->node));
    put_shapes(&t, l->in, l->n_in);
    text_puts(&t, ", Output shapes: ");
    put_shapes(&t, l->out, l->n_out);
    text_putc(&t, '\n');
    if (!((const PrintHook *)self)->shape_only) {
        e = put_tensors(x, l->in, l->n_in, "Input", &t);
        if (!e) e = put_tensors(x, l->out, l->n_out, "Output", &t);
    }
    fwrite(t.ptr, 1, t.len, stdout);
    text_free(&t);
    arena_free(a);
    return e;
}

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    PrintHook *h = NEW(builder_arena(b), PrintHook);
    *h = (PrintHook){ .base = { .node = on_node }, .shape_only = s->print_shape_only };
    watch_add(&s->model->watches, &h->base);
    *out = h;
    return NULL;
}

/* clang-format off */
static const Field fields[] = {
    FIELD_COMPONENT(Settings, model, Model, "model", NULL, "the model", .flags = FIELD_MAPS),
    FIELD_BOOL(Settings, print_shape_only, "false", "only shapes; else the first and last numbers, too"),
    { 0 },
};
/* clang-format on */

const ComponentDef model_debugging_hook_print_forward_hook = {
    .kind = "model_debugging_hook",
    .variant = "print_forward_hook",
    .doc = "prints op, place, shapes and numbers of every node of the forward pass",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
