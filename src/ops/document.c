/* document.c - the page about ops: one row per op, and the attributes of those that have any. */
#include "ops/document.h"
#include "ops/all_ops.h"
#include <string.h>

static const struct {
    unsigned flag;
    const char *name, *doc;
} flags[] = {
    { OP_MATMUL, "matmul", "FLOPs are twice the product of all letters" },
    { OP_LINEAR, "linear", "may be applied to partial sums" },
    { OP_RANDOM, "random", "depends on the seed; recomputed with the same key" },
    { OP_ADDS, "adds", "can add to its results, so it may write gradients of parameters" },
    { OP_VIEW, "view", "the result is the input's memory" },
    { OP_COMM, "comm", "moves data between ranks" },
    { OP_SUM, "sum", "adds up activations, as the residual stream does" },
    { OP_ATTENTION, "attention", "may be kept when a block is recomputed" },
    { OP_ROWS, "rows", "has rows in an order of this rank's own, which ranks of tp do not divide" },
    { 0 },
};

static const char *type_name(const Field *f)
{
    switch (f->type) {
    case FIELD_BOOL:
        return "bool";
    case FIELD_INT:
        return "int";
    case FIELD_FLOAT:
        return "float";
    case FIELD_CHOICE:
        return "choice";
    case FIELD_LIST:
        return "floats";
    default:
        CHECK(!"attributes are bools, numbers, choices and lists of floats");
    }
}

/* Text of a table's cell: a bar would end the cell. */
static void cell(Text *to, const char *s)
{
    for (; *s; s++) {
        if (*s == '|') text_putc(to, '\\');
        text_putc(to, *s);
    }
}

static void row(Text *to, const OpDef *op)
{
    text_printf(to, "| %s | ", op->name);
    if (op->dims)
        text_printf(to, "`%s`", op->dims);
    else
        text_puts(to, "by node");
    text_puts(to, " | ");
    cell(to, op->doc);
    text_puts(to, " | ");
    const char *separator = "";
    for (int i = 0; flags[i].flag; i++) {
        if (!(op->flags & flags[i].flag)) continue;
        text_printf(to, "%s%s", separator, flags[i].name);
        separator = " ";
    }
    text_printf(to, " | %s |\n", op->grad ? "yes" : "");
}

static void attributes(Text *to, const OpDef *op)
{
    for (const Field *f = op->attrs; f && f->name; f++) {
        text_printf(to, "| %s | %s | %s | ", f == op->attrs ? op->name : "", f->name, type_name(f));
        cell(to, f->doc);
        text_puts(to, " |\n");
    }
}

void ops_document(Text *to)
{
    text_puts(to,
              "# Ops\n\n"
              "Generated from the table in `src/ops/all_ops.c` by `make docs`; do not edit.\n\n"
              "Dims: one letter is one dimension, `*` any leading ones, `(hd)` one dimension that "
              "is h times d, `!` must be whole\non every rank; an empty operand is a scalar. A "
              "letter that is split and missing in a result makes it a partial sum.\n"
              "`by node`: the dims depend on optional inputs, or are the caller's.\n\nFlags:\n\n");
    for (int i = 0; flags[i].flag; i++)
        text_printf(to, "- `%s`: %s\n", flags[i].name, flags[i].doc);
    text_puts(to, "\n| op | dims | result | flags | gradient |\n|---|---|---|---|---|\n");
    for (int i = 0; op_at(i); i++) row(to, op_at(i));
    text_puts(to, "\n## Attributes\n\n| op | attribute | type | meaning |\n|---|---|---|---|\n");
    for (int i = 0; op_at(i); i++) attributes(to, op_at(i));
}
