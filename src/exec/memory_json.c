/* memory_json.c - a program's memory plan as JSON: which tensor lies where, and when. */
#include "base/json.h"
#include "exec/program_parts.h"

static void put_string(Text *t, const char *key, const char *value)
{
    text_printf(t, "\"%s\": ", key);
    text_json_string(t, str_of(value));
    text_puts(t, ", ");
}

void moment_put_name(const Moment *m, Text *out)
{
    for (Phase p = PREPARE, n = 0; p < N_PHASES; p++)
        if (m->phases >> p & 1) text_printf(out, "%s%s", n++ ? ", " : "", phase_name(p));
}

static void put_moments(const Timeline *t, Text *out)
{
    text_puts(out, "{\"moments\": [");
    for (int64_t i = 0; i < t->n; i++) {
        const Moment *m = &t->moment[i];
        text_printf(out, "%s{\"name\": \"", i ? ", " : "");
        moment_put_name(m, out);
        text_printf(out, "\", \"slot\": %d, \"stage\": %d}", m->slot, m->stage);
    }
    text_puts(out, "],\n");
}

BlockKind block_kind(const Block *b)
{
    if (!b->value) return BLOCK_SCRATCH;
    if (b->value->kind == VALUE_INPUT) return BLOCK_INPUT;
    return b->value->from && b->value->from->phase == FORWARD ? BLOCK_ACTIVATION : BLOCK_GRADIENT;
}

static const char *kind_of(const Block *b)
{
    static const char *const kinds[] = { [BLOCK_ACTIVATION] = "activation",
                                         [BLOCK_GRADIENT] = "gradient",
                                         [BLOCK_SCRATCH] = "scratch",
                                         [BLOCK_INPUT] = "input" };
    return kinds[block_kind(b)];
}

static void put_block(const Block *b, Text *out)
{
    Arena *a = arena_new();
    const Node *n = b->value ? b->value->from : NULL;
    text_putc(out, '{');
    put_string(out, "name", b->what);
    put_string(out, "module", n ? node_module(a, n) : "");
    put_string(out, "kind", kind_of(b));
    text_printf(out, "\"bytes\": %zu, \"offset\": %lld, \"spans\": [", b->bytes,
                (long long)b->offset);
    for (int64_t i = 0; i < b->n_spans; i++)
        text_printf(out, "%s[%lld, %lld, %lld]", i ? ", " : "", (long long)b->span[i].moment,
                    (long long)b->span[i].from,
                    b->span[i].to == WHOLE_MOMENT ? -1LL : (long long)b->span[i].to);
    text_puts(out, "]}");
    arena_free(a);
}

const char *stored_kind(const Stored *s)
{
    static const char *const kinds[] = { [VALUE_INPUT] = "input",
                                         [VALUE_PARAM] = "parameter",
                                         [VALUE_STATE] = "optimizer state",
                                         [VALUE_RESULT] = "copy or table",
                                         [VALUE_ACCUMULATOR] = "gradient" };
    return kinds[stored_accounted(s)];
}

static void put_stored(const Program *p, Text *out)
{
    const ParamStore *s = p->settings.store;
    text_puts(out, "\"stored\": [");
    for (int64_t i = 0; i < store_count(s); i++) {
        const Stored *x = store_at(s, i);
        text_puts(out, i ? ",\n{" : "\n{");
        put_string(out, "name", x->name);
        put_string(out, "kind", stored_kind(x));
        text_printf(out, "\"bytes\": %zu}", tensor_bytes(&x->tensor));
    }
    text_puts(out, "]}");
}

void program_memory_json(const Program *p, Text *out)
{
    const MemoryPlan *m = p->plan;
    put_moments(p->timeline, out);
    text_printf(out, "\"nodes\": %lld, \"workspace\": %zu, \"tensors\": [",
                (long long)p->graph->n_nodes, m->bytes);
    for (int64_t i = 0; i < m->n_blocks; i++) {
        text_puts(out, i ? ",\n" : "\n");
        put_block(&m->block[i], out);
    }
    text_puts(out, "],\n");
    put_stored(p, out);
}
