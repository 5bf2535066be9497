/* memory_outline.c - a program's memory over the time of a step, coarse enough for an overview. */
#include "base/json.h"
#include "exec/program_parts.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { N_KINDS = 4, MOST_COLUMNS = 240, MOST_LAYERS = 12 };

/* Bytes in use at a node of a moment, by kind. */
typedef struct Use {
    double bytes[N_KINDS];
} Use;

typedef struct Outline {
    const Program *p;
    Arena *arena;
    int64_t n_nodes;
    Use *use;      /* [moment][node] */
    int64_t *runs; /* the entries of `use` in which a node runs, in order */
    int64_t n_runs;
    int64_t peak; /* an entry of `use` */
} Outline;

static double total(const Use *u)
{
    double sum = 0;
    for (int k = 0; k < N_KINDS; k++) sum += u->bytes[k];
    return sum;
}

static int64_t last_node(const Outline *o, const Span *s)
{
    return s->to == WHOLE_MOMENT || s->to >= o->n_nodes ? o->n_nodes - 1 : s->to;
}

static int64_t first_node(const Span *s)
{
    return s->from < 0 ? 0 : s->from;
}

/* Changes at the ends of spans, then their sums. */
static void add_uses(Outline *o)
{
    const MemoryPlan *plan = o->p->plan;
    const int64_t n = o->p->timeline->n * o->n_nodes;
    for (int64_t i = 0; i < plan->n_blocks; i++) {
        const Block *b = &plan->block[i];
        const int kind = block_kind(b);
        for (int64_t k = 0; k < b->n_spans; k++) {
            const Span *s = &b->span[k];
            const int64_t at = s->moment * o->n_nodes;
            o->use[at + first_node(s)].bytes[kind] += (double)b->bytes;
            o->use[at + last_node(o, s) + 1].bytes[kind] -= (double)b->bytes;
        }
    }
    for (int64_t i = 1; i < n; i++)
        for (int k = 0; k < N_KINDS; k++) o->use[i].bytes[k] += o->use[i - 1].bytes[k];
}

static void find_runs(Outline *o)
{
    const Timeline *t = o->p->timeline;
    for (int64_t m = 0; m < t->n; m++) {
        const Moment *moment = &t->moment[m];
        for (int64_t i = 0; i < o->n_nodes; i++) {
            const Node *n = o->p->graph->node[i];
            const bool is_of_slot = moment->slot < 0 || moment->slot == t->n_slots;
            if (!(moment->phases >> n->phase & 1)) continue;
            if (!is_of_slot && n->stage != moment->stage) continue;
            const int64_t at = m * o->n_nodes + i;
            if (!o->n_runs || total(&o->use[at]) > total(&o->use[o->peak])) o->peak = at;
            o->runs[o->n_runs++] = at;
        }
    }
}

/* Of the runs that fall into a column, the one that uses most. */
static void put_columns(const Outline *o, Text *out)
{
    const int64_t n = o->n_runs < MOST_COLUMNS ? o->n_runs : MOST_COLUMNS;
    int64_t moment = -1;
    Text at = { 0 };
    text_puts(out, "\"columns\":[");
    for (int64_t c = 0; c < n; c++) {
        const int64_t from = c * o->n_runs / n, to = (c + 1) * o->n_runs / n;
        int64_t best = o->runs[from];
        for (int64_t i = from; i < to; i++)
            if (total(&o->use[o->runs[i]]) > total(&o->use[best])) best = o->runs[i];
        text_puts(out, c ? ",[" : "[");
        for (int k = 0; k < N_KINDS; k++)
            text_printf(out, "%s%.0f", k ? "," : "", o->use[best].bytes[k]);
        text_putc(out, ']');
        if (o->runs[from] / o->n_nodes == moment) continue;
        moment = o->runs[from] / o->n_nodes;
        text_printf(&at, "%s[%lld,\"", at.len ? "," : "", (long long)c);
        moment_put_name(&o->p->timeline->moment[moment], &at);
        text_puts(&at, "\"]");
    }
    text_printf(out, "],\"at\":[%s],\n", at.len ? at.ptr : "");
    text_free(&at);
}

/* "transformer.h.3" of "transformer.h.3.attn.q_attn". */
static const char *layer_of(Arena *a, const Block *b)
{
    const Node *n = b->value ? b->value->from : NULL;
    const char *module = n ? node_module(a, n) : "";
    for (const char *p = module; *p; p++) {
        const bool is_number = (p == module || p[-1] == '.') && isdigit((unsigned char)*p);
        if (is_number)
            return arena_printf(a, "%.*s", (int)(p - module + (int)strcspn(p, ".")), module);
    }
    return *module ? module : "(none)";
}

typedef struct Share {
    const char *name;
    double bytes;
} Share;

static void add_share(Share *list, int64_t *n, const char *name, double bytes)
{
    for (int64_t i = 0; i < *n; i++)
        if (!strcmp(list[i].name, name)) {
            list[i].bytes += bytes;
            return;
        }
    list[(*n)++] = (Share){ name, bytes };
}

static int by_bytes(const void *a, const void *b)
{
    const Share *x = a, *y = b;
    return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : strcmp(x->name, y->name);
}

static void put_shares(Share *list, int64_t n, int64_t most, Text *out)
{
    qsort(list, (size_t)n, sizeof *list, by_bytes);
    text_putc(out, '[');
    for (int64_t i = 0; i < n && i < most; i++) {
        text_puts(out, i ? ",[" : "[");
        text_json_string(out, str_of(list[i].name));
        text_printf(out, ",%.0f]", list[i].bytes);
    }
    text_putc(out, ']');
}

static bool is_alive(const Outline *o, const Block *b)
{
    const int64_t moment = o->peak / o->n_nodes, node = o->peak % o->n_nodes;
    for (int64_t k = 0; k < b->n_spans; k++) {
        const Span *s = &b->span[k];
        if (s->moment == moment && first_node(s) <= node && node <= last_node(o, s)) return true;
    }
    return false;
}

static void put_peak(const Outline *o, Text *out)
{
    const MemoryPlan *plan = o->p->plan;
    Share *list = NEW_N(o->arena, Share, plan->n_blocks + 1);
    int64_t n = 0;
    for (int64_t i = 0; i < plan->n_blocks; i++)
        if (is_alive(o, &plan->block[i]))
            add_share(list, &n, layer_of(o->arena, &plan->block[i]), (double)plan->block[i].bytes);
    text_printf(out, "\"peak\":%.0f,\"layers\":", o->n_runs ? total(&o->use[o->peak]) : 0.0);
    put_shares(list, n, MOST_LAYERS, out);
}

static void put_kept(const Outline *o, Text *out)
{
    const ParamStore *s = o->p->settings.store;
    Share list[8] = { 0 };
    int64_t n = 0;
    for (int64_t i = 0; i < store_count(s); i++) {
        const Stored *x = store_at(s, i);
        add_share(list, &n, stored_kind(x), (double)tensor_bytes(&x->tensor));
    }
    text_puts(out, ",\"kept\":");
    put_shares(list, n, n, out);
}

void program_memory_outline(const Program *p, Text *out)
{
    Arena *a = arena_new();
    const int64_t n_nodes = p->graph->n_nodes, n = p->timeline->n * n_nodes;
    Outline o = { .p = p,
                  .arena = a,
                  .n_nodes = n_nodes,
                  .use = NEW_N(a, Use, n + 1),
                  .runs = NEW_N(a, int64_t, n + 1) };
    add_uses(&o);
    find_runs(&o);
    text_printf(out, "{\"workspace\":%zu,", p->plan->bytes);
    put_columns(&o, out);
    put_peak(&o, out);
    put_kept(&o, out);
    text_puts(out, "}\n");
    arena_free(a);
}
