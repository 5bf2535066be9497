/* program_print.c - a program's memory, kernels and slow ops as text. */
#include "base/thread.h"
#include "exec/cost.h"
#include "exec/program_parts.h"

static void print_bytes(const char *what, size_t bytes, FILE *to)
{
    char text[32];
    format_bytes((double)bytes, text);
    fprintf(to, "%12s  %s\n", text, what);
}

void program_print_own(const Program *p, FILE *to)
{
    const Device *d = p->settings.device;
    const char *name;
    for (int i = 0; d->own_bytes; i++) {
        const size_t bytes = d->own_bytes(d, i, &name);
        if (!bytes) break;
        print_bytes(name, bytes, to);
    }
}

void program_print_memory(const Program *p, FILE *to)
{
    static const char *const what[] = { [VALUE_PARAM] = "parameters",
                                        [VALUE_STATE] = "optimizer states and caches",
                                        [VALUE_RESULT] = "copies and tables made from parameters",
                                        [VALUE_ACCUMULATOR] = "gradients" };
    size_t sum[VALUE_ACCUMULATOR + 1] = { 0 };
    const size_t halves = store_halves(p->settings.store);
    for (int64_t i = 0; i < store_count(p->settings.store); i++) {
        const Stored *s = store_at(p->settings.store, i);
        sum[stored_accounted(s)] += tensor_bytes(&s->tensor);
    }
    for (int k = VALUE_PARAM; k <= VALUE_ACCUMULATOR; k++) {
        if (sum[k]) print_bytes(what[k], sum[k], to);
        if (k == VALUE_PARAM && halves) print_bytes("of them " STORED_IN_HALVES, halves, to);
    }
    program_print_own(p, to);
    print_bytes("activations and scratch; at the peak:", p->plan->bytes, to);
    program_print_largest(p, 8, to);
}

void program_print_largest(const Program *p, int n, FILE *to)
{
    memory_print(p->plan, n, to);
}

static bool is_slow(const Step *s)
{
    return !s->tuned || s->tuned->level == KERNEL_PLAIN;
}

/* By plan; what is made from no parameter is made once, and costs no step anything. */
static double step_seconds(const Program *p, const Step *s, int64_t microbatches)
{
    if (s->derived && s->derived->is_constant) return 0;
    bool is_once = s->node->phase == PREPARE || s->node->phase >= REDUCE;
    double seconds = node_seconds(s->node, s->launch, is_slow(s), pool_size(p->stream[0]->pool));
    return is_once ? seconds : seconds * (double)microbatches;
}

/* The part of a step that the slow kernels of this op take; 0 when it is too small to name. */
static double slow_share(const Program *p, const OpDef *op, int64_t microbatches)
{
    static const double WORTH_NAMING = 0.02;
    double of_op = 0, all = 0;
    for (int64_t i = 0; i < p->n_steps; i++) {
        const Step *s = &p->step[i];
        double seconds = step_seconds(p, s, microbatches);
        all += seconds;
        if (is_slow(s) && s->node->op == op) of_op += seconds;
    }
    return of_op > WORTH_NAMING * all ? of_op / all : 0;
}

const char *program_slow_ops(const Program *p, int64_t microbatches, Arena *a)
{
    Text t = { 0 };
    for (int64_t i = 0; i < p->n_steps; i++) {
        const OpDef *op = p->step[i].node->op;
        bool is_known = !is_slow(&p->step[i]) || op->flags & OP_COMM; /* those move data, no more */
        for (int64_t j = 0; j < i && !is_known; j++)
            is_known = is_slow(&p->step[j]) && p->step[j].node->op == op;
        double share = is_known ? 0 : slow_share(p, op, microbatches);
        if (share > 0)
            text_printf(&t, "%s%s (%s kernel, about %.0f %% of a step)", t.len ? ", " : "",
                        op->name, p->step[i].tuned ? "plain" : "reference", 100 * share);
    }
    const char *said = t.len ? arena_string(a, t.ptr) : NULL;
    text_free(&t);
    return said;
}

void program_print_kernels(const Program *p, FILE *to)
{
    for (int64_t i = 0; i < p->n_steps; i++) {
        const Step *s = &p->step[i];
        const char *kernel = s->node->op->flags & OP_VIEW ? "view" : kernel_name(s->tuned);
        double share = is_slow(s) ? slow_share(p, s->node->op, 1) : 0;
        fprintf(to, "%-10s %-20s %s", kernel, s->node->op->name, s->node->dims->text);
        if (share > 0)
            fprintf(to, "  <- slow: all %s about %.0f %% of a step", s->node->op->name,
                    100 * share);
        fputc('\n', to);
    }
}
