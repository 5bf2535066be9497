/* watch.c - hands each node that has run to all who look on. */
#include "watch/watch.h"
#include "base/clock.h"

void watch_add(Watch **list, Watch *w)
{
    while (*list) list = &(*list)->next;
    *list = w;
}

static Error *tell(Watch *list, const NodeRun *x)
{
    for (; list; list = list->next)
        if (!list->is_off) TRY(list->node(list, x));
    return NULL;
}

static Error *on_node(void *ctx, const Node *n, const Launch *l, double seconds)
{
    Watchers *w = ctx;
    RunTime now;
    NodeRun x = { .graph = program_graph(w->program),
                  .node = n,
                  .launch = l,
                  .begin = clock_seconds() - seconds,
                  .seconds = seconds,
                  .now = l->now,
                  .device = w->device,
                  .rank = w->rank };
    if (!w->device->is_host) {
        TRY(device_copy_now(w->device, &now, l->now, sizeof now, l->stream));
        x.now = &now;
    }
    TRY(tell(w->of_model, &x));
    return tell(w->of_run, &x);
}

static Error *on_time(void *ctx, const NodeTime *t)
{
    Watchers *w = ctx;
    const NodeRun x = { .graph = program_graph(w->program),
                        .node = t->node,
                        .launch = t->launch,
                        .begin = t->begin,
                        .seconds = t->seconds,
                        .is_wait = t->is_wait,
                        .now = t->now,
                        .device = w->device,
                        .rank = w->rank };
    TRY(tell(w->of_model, &x));
    return tell(w->of_run, &x);
}

static bool want_only_times(const Watch *list)
{
    for (; list; list = list->next)
        if (!list->only_times) return false;
    return true;
}

static Error *start(Watch *list, const Program *p)
{
    for (; list; list = list->next)
        if (list->start) TRY(list->start(list, p));
    return NULL;
}

Error *watchers_attach(Watchers *w, Program *p)
{
    if (!w->of_model && !w->of_run) return NULL;
    w->program = p;
    if (program_keeps_times(w->device) && want_only_times(w->of_model) &&
        want_only_times(w->of_run))
        program_set_times(p, on_time, w);
    else
        program_set_hook(p, on_node, w);
    TRY(start(w->of_model, p));
    return start(w->of_run, p);
}

Error *node_tensor(const NodeRun *x, const Tensor *t, Arena *a, Tensor *out)
{
    *out = *t;
    if (x->device->is_host) return NULL;
    out->data = arena_alloc(a, tensor_bytes(t));
    return device_copy_now(x->device, out->data, t->data, tensor_bytes(t), x->launch->stream);
}

const char *node_place(Arena *a, const Node *n)
{
    const char *module = node_module(a, n);
    if (!*module) return arena_printf(a, "%s (%s)", n->op->name, phase_name(n->phase));
    return arena_printf(a, "%s in %s (%s)", n->op->name, module, phase_name(n->phase));
}

static void put_attr(const Field *f, const void *attrs, Text *t)
{
    const char *at = (const char *)attrs + f->offset;
    char number[32];
    text_printf(t, "%s: ", f->name);
    switch (f->type) {
    case FIELD_BOOL:
        text_puts(t, *(const bool *)at ? "true" : "false");
        break;
    case FIELD_INT:
        text_printf(t, "%lld", (long long)*(const int64_t *)at);
        break;
    case FIELD_FLOAT:
        format_double(*(const double *)at, number);
        text_puts(t, number);
        break;
    case FIELD_CHOICE:
        text_puts(t, f->choices[*(const int *)at]);
        break;
    default:
        CHECK(!"ops have settings of these types only");
    }
}

const char *node_attrs(Arena *a, const Node *n)
{
    Text t = { 0 };
    text_putc(&t, '{');
    for (const Field *f = n->op->attrs; f && f->name; f++) {
        if (f != n->op->attrs) text_puts(&t, ", ");
        put_attr(f, n->attrs, &t);
    }
    text_putc(&t, '}');
    const char *text = arena_string(a, t.ptr);
    text_free(&t);
    return text;
}
