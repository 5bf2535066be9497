/* print.c - the graph as text: one line per node, for people, golden files and diffs. */
#include "graph/graph.h"
#include "graph/op.h"

static const char *const names[N_PHASES] = {
    [PREPARE] = "prepare",
    [FORWARD] = "forward",
    [BACKWARD_INPUT] = "backward_input",
    [BACKWARD_WEIGHT] = "backward_weight",
    [BACKWARD_LAST] = "backward_last",
    [REDUCE] = "reduce",
    [UPDATE] = "update",
};

const char *phase_name(Phase p)
{
    return names[p];
}

static void print_value(const Value *v, FILE *to)
{
    fprintf(to, "%s[", v->name);
    for (int d = 0; d < v->n_dims; d++) {
        fprintf(to, "%s%lld", d ? " " : "", (long long)v->dim[d].size);
        for (int m = 0; m < MAX_MESH_AXES && v->dim[d].mesh[m]; m++)
            fprintf(to, "/%d", v->dim[d].mesh[m]);
        if (v->dim[d].layout == ZIGZAG) fprintf(to, "z");
        if (v->dim[d].rotation) fprintf(to, ">%d", v->dim[d].rotation);
    }
    fprintf(to, "]");
    if (v->dtype != F32) fprintf(to, ":%s", dtype_name(v->dtype));
    if (v->partial) fprintf(to, "%s%u", v->reduce == REDUCE_MAX ? "^" : "+", v->partial);
}

static void put_floats(Text *t, const FloatList *list)
{
    text_putc(t, '[');
    for (int64_t i = 0; i < list->n; i++) text_printf(t, "%s%.17g", i ? " " : "", list->item[i]);
    text_putc(t, ']');
}

void graph_attrs_text(const Node *n, Text *to)
{
    for (const Field *f = n->op->attrs; f && f->name; f++) {
        const char *at = (const char *)n->attrs + f->offset;
        text_printf(to, " %s=", f->name);
        switch (f->type) {
        case FIELD_BOOL:
            text_puts(to, *(const bool *)at ? "true" : "false");
            break;
        case FIELD_INT:
            text_printf(to, "%lld", (long long)*(const int64_t *)at);
            break;
        case FIELD_FLOAT:
            text_printf(to, "%.17g", *(const double *)at);
            break;
        case FIELD_CHOICE:
            text_puts(to, f->choices[*(const int *)at]);
            break;
        case FIELD_LIST:
            put_floats(to, (const FloatList *)at);
            break;
        default:
            CHECK(!"attributes are bools, numbers, choices and lists of floats");
        }
    }
}

static void print_attrs(const Node *n, FILE *to)
{
    Text t = { 0 };
    graph_attrs_text(n, &t);
    if (t.len) fputs(t.ptr, to);
    text_free(&t);
}

static void print_init(const Init *r, FILE *to)
{
    switch (r->kind) {
    case INIT_ZEROS:
        fprintf(to, "zeros");
        break;
    case INIT_ONES:
        fprintf(to, "ones");
        break;
    case INIT_NORMAL:
        fprintf(to, "normal(%.17g, %.17g)", r->mean, r->std);
        break;
    case INIT_TRUNCATED:
        fprintf(to, "normal(%.17g, %.17g) in [%.17g, %.17g]", r->mean, r->std, r->low, r->high);
        break;
    case INIT_UNIFORM:
        fprintf(to, "uniform [%.17g, %.17g]", r->low, r->high);
        break;
    case INIT_LOG_COUNT:
        fprintf(to, "logarithms of 1 to %lld, again and again", (long long)r->columns);
        break;
    case INIT_CHOICES:
        fprintf(to, "%lld numbers of %.17g a row", (long long)r->columns, r->high);
        break;
    }
}

static void print_params(const Graph *g, FILE *to)
{
    for (int64_t i = 0; i < g->n_values; i++) {
        const Value *v = g->value[i];
        if (v->kind != VALUE_PARAM) continue;
        fprintf(to, "param ");
        print_value(v, to);
        fprintf(to, " ");
        print_init(&v->init, to);
        fprintf(to, "\n");
    }
}

void graph_print(const Graph *g, FILE *to)
{
    print_params(g, to);
    for (int64_t i = 0; i < g->n_nodes; i++) {
        const Node *n = g->node[i];
        for (int k = 0; k < n->n_out; k++) {
            if (k) fprintf(to, ", ");
            print_value(n->out[k], to);
        }
        fprintf(to, " = %s(", n->op->name);
        for (int k = 0; k < n->n_in; k++) fprintf(to, "%s%s", k ? ", " : "", n->in[k]->name);
        fprintf(to, ") %s", n->dims->text);
        print_attrs(n, to);
        if (n->phase != FORWARD) fprintf(to, " @%s", phase_name(n->phase));
        if (n->block >= 0) fprintf(to, " #%d", n->block);
        if (n->stage) fprintf(to, " stage %d", n->stage);
        fprintf(to, "\n");
    }
    for (int64_t i = 0; i < g->n_outputs; i++)
        fprintf(to, "output %s = %s\n", g->output[i].name, g->output[i].value->name);
}
