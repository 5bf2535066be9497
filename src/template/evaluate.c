/* evaluate.c - expressions to values. */
#include "template/evaluate.h"
#include "template/function.h"
#include "template/lexer.h"

Error *new_list(Run *r, TemplateKind kind, int64_t n, TemplateValue **item, TemplateValue *out)
{
    if (n > r->meter.work_left) n = r->meter.work_left + 1; /* refused by the next line */
    TRY(meter_spend(&r->meter, n * (int64_t)sizeof(TemplateValue) + 64));
    *out = value_list(r->arena, kind, n, item);
    return NULL;
}

Error *finish_text(Run *r, Text *t, Error *e, TemplateValue *out)
{
    if (!e) *out = value_text_copy(r->arena, t);
    text_free(t);
    return e;
}

/* ---- calls ---- */

static Error *evaluate_arguments(Run *r, const Arguments *a, Call *c)
{
    TemplateValue *value, list;
    TRY(new_list(r, TEMPLATE_LIST, a->n, &value, &list));
    const char **name = a->n ? NEW_N(r->arena, const char *, a->n) : NULL;
    for (int64_t i = 0; i < a->n; i++) {
        TRY(evaluate_node(r, a->item[i].node, &value[i]));
        name[i] = a->item[i].name;
    }
    c->value = value;
    c->name = name;
    c->n = a->n;
    return NULL;
}

static Error *call_value(Run *r, TemplateValue callee, Call *c, TemplateValue *out)
{
    if (callee.kind == TEMPLATE_MACRO) return call_macro(r, callee.macro, c, out);
    if (callee.kind == TEMPLATE_FUNCTION) return function_call(r, callee.builtin, c, out);
    if (callee.kind == TEMPLATE_UNDEFINED)
        return error_new("'%.*s' is undefined, so it cannot be called", (int)callee.text.len,
                         callee.text.ptr);
    return error_new("%s cannot be called", value_kind_name(callee));
}

/* object.name(...): a method of its kind, or an entry that can be called. */
static Error *call_attribute(Run *r, const Node *n, TemplateValue *out)
{
    Call c = { 0 };
    TemplateValue callee;
    Str name = str_of(n->left->name);
    TRY(evaluate_node(r, n->left->left, &c.self));
    FunctionKind methods = methods_of(c.self.kind);
    const Function *f = methods < N_FUNCTION_KINDS ? function_find(methods, name) : NULL;
    if (!f) TRY(value_attribute(c.self, name, &callee));
    if (!f && methods < N_FUNCTION_KINDS && callee.kind == TEMPLATE_UNDEFINED)
        return function_unknown(methods, name);
    TRY(evaluate_arguments(r, &n->arguments, &c));
    return f ? function_call(r, f, &c, out) : call_value(r, callee, &c, out);
}

static Error *call(Run *r, const Node *n, TemplateValue *out)
{
    Call c = { 0 };
    TemplateValue callee;
    if (n->left->kind == NODE_ATTRIBUTE) return call_attribute(r, n, out);
    TRY(evaluate_node(r, n->left, &callee));
    TRY(evaluate_arguments(r, &n->arguments, &c));
    return call_value(r, callee, &c, out);
}

static Error *apply(Run *r, const Node *n, TemplateValue *out)
{
    Call c = { 0 };
    TRY(evaluate_node(r, n->left, &c.self));
    TRY(evaluate_arguments(r, &n->arguments, &c));
    return function_call(r, n->function, &c, out);
}

/* ---- the other kinds of nodes ---- */

static Error *look_up(Run *r, const Node *n, TemplateValue *out)
{
    for (const Scope *s = r->scope; s; s = s->around) {
        for (int64_t i = 0; i < s->n; i++) {
            if (s->item[i].name != n->name) continue;
            *out = s->item[i].value;
            return NULL;
        }
        TRY(meter_spend(&r->meter, s->n));
    }
    *out = n->function ? (TemplateValue){ .kind = TEMPLATE_FUNCTION, .builtin = n->function }
                       : value_undefined(str_of(n->name));
    return NULL;
}

static Error *make_list(Run *r, const Node *n, TemplateValue *out)
{
    TemplateValue *item;
    TRY(new_list(r, n->kind == NODE_TUPLE ? TEMPLATE_TUPLE : TEMPLATE_LIST, n->arguments.n, &item,
                 out));
    for (int64_t i = 0; i < n->arguments.n; i++)
        TRY(evaluate_node(r, n->arguments.item[i].node, &item[i]));
    return NULL;
}

static Error *make_map(Run *r, const Node *n, TemplateValue *out)
{
    *out = value_map(r->arena);
    TRY(meter_spend(&r->meter, 256 + 64 * n->arguments.n));
    for (int64_t i = 0; i < n->arguments.n; i += 2) {
        TemplateValue key, value;
        TRY(evaluate_node(r, n->arguments.item[i].node, &key));
        TRY(evaluate_node(r, n->arguments.item[i + 1].node, &value));
        if (key.kind != TEMPLATE_TEXT)
            return error_new("a key is %s; keys are text", value_kind_name(key));
        value_map_set(*out, key.text, value);
    }
    return NULL;
}

static Error *slice_part(Run *r, const Node *n, int64_t part, bool *is_given, int64_t *out)
{
    const Node *node = part < n->arguments.n ? n->arguments.item[part].node : NULL;
    TemplateValue v = value_none();
    if (node) TRY(evaluate_node(r, node, &v));
    *is_given = v.kind != TEMPLATE_NONE;
    if (!*is_given) return NULL;
    if (v.kind != TEMPLATE_INT)
        return error_new("a slice has %s where an integer is needed", value_kind_name(v));
    /* far outside is outside, and sums with it stay in range */
    const int64_t far = INT64_C(1) << 40;
    *out = v.integer > far ? far : v.integer < -far ? -far : v.integer;
    return NULL;
}

static Error *slice(Run *r, const Node *n, TemplateValue *out)
{
    TemplateValue v;
    Slice s = { .step = 1 };
    bool has_step;
    TRY(evaluate_node(r, n->left, &v));
    TRY(slice_part(r, n, 0, &s.has_from, &s.from));
    TRY(slice_part(r, n, 1, &s.has_to, &s.to));
    TRY(slice_part(r, n, 2, &has_step, &s.step));
    return value_slice(r, v, &s, out);
}

static Error *concat(Run *r, const Node *n, TemplateValue *out)
{
    Text t = { 0 };
    Error *e = NULL;
    for (int64_t i = 0; !e && i < n->arguments.n; i++) {
        TemplateValue v;
        e = evaluate_node(r, n->arguments.item[i].node, &v);
        if (!e) e = value_print(&r->meter, v, &t);
    }
    return finish_text(r, &t, e, out);
}

/* a < b < c: each pair must hold; what comes after the first that does not is not evaluated. */
static Error *compare_chain(Run *r, const Node *n, TemplateValue *out)
{
    TemplateValue left, right;
    bool holds = true;
    TRY(evaluate_node(r, n->left, &left));
    for (int64_t i = 0; holds && i < n->arguments.n; i++) {
        TRY(evaluate_node(r, n->arguments.item[i].node, &right));
        TRY(compare_values(r, n->arguments.item[i].sign, left, right, &holds));
        left = right;
    }
    *out = value_bool(holds);
    return NULL;
}

static Error *change_sign(const Node *n, TemplateValue v, TemplateValue *out)
{
    if (!value_is_number(v)) return error_new("%s has no sign", value_kind_name(v));
    bool is_minus = n->kind == NODE_NEGATE;
    *out = v;
    if (v.kind == TEMPLATE_FLOAT) {
        out->number = is_minus ? -v.number : v.number;
        return NULL;
    }
    int64_t i = v.kind == TEMPLATE_BOOL ? v.boolean : v.integer;
    if (is_minus && i == INT64_MIN) return error_new("the result does not fit into 64 bits");
    *out = value_int(is_minus ? -i : i);
    return NULL;
}

static Error *choose(Run *r, const Node *n, TemplateValue *out)
{
    TemplateValue condition;
    TRY(evaluate_node(r, n->right, &condition));
    if (value_is_true(condition)) return evaluate_node(r, n->left, out);
    *out = value_undefined(str_of("the value of an 'if' without 'else'"));
    return n->third ? evaluate_node(r, n->third, out) : NULL;
}

static Error *evaluate_kind(Run *r, const Node *n, TemplateValue *out)
{
    TemplateValue x, y;
    switch (n->kind) {
    case NODE_VALUE:
        *out = n->value;
        return NULL;
    case NODE_BODY_TEXT:
        *out = r->body_text;
        return NULL;
    case NODE_NAME:
        return look_up(r, n, out);
    case NODE_LIST:
    case NODE_TUPLE:
        return make_list(r, n, out);
    case NODE_MAP:
        return make_map(r, n, out);
    case NODE_SLICE:
        return slice(r, n, out);
    case NODE_CALL:
        return call(r, n, out);
    case NODE_FILTER:
    case NODE_TEST:
        return apply(r, n, out);
    case NODE_CHOICE:
        return choose(r, n, out);
    case NODE_CONCAT:
        return concat(r, n, out);
    case NODE_COMPARE:
        return compare_chain(r, n, out);
    default:
        break;
    }
    TRY(evaluate_node(r, n->left, &x));
    switch (n->kind) {
    case NODE_ATTRIBUTE:
        return value_attribute(x, str_of(n->name), out);
    case NODE_NOT:
        *out = value_bool(!value_is_true(x));
        return NULL;
    case NODE_NEGATE:
    case NODE_PLUS:
        return change_sign(n, x, out);
    case NODE_AND:
    case NODE_OR:
        *out = x;
        return value_is_true(x) == (n->kind == NODE_AND) ? evaluate_node(r, n->right, out) : NULL;
    default:
        break;
    }
    TRY(evaluate_node(r, n->right, &y));
    if (n->kind == NODE_ITEM) return value_item(r, x, y, out);
    CHECK(n->kind == NODE_COMPUTE);
    return compute_values(r, n->sign, x, y, out);
}

Error *evaluate_node(Run *r, const Node *n, TemplateValue *out)
{
    *out = value_none();
    Error *e = meter_enter(&r->meter);
    if (!e) e = evaluate_kind(r, n, out);
    meter_leave(&r->meter);
    if (!e || r->has_place) return e;
    r->has_place = true; /* the innermost place is the one that helps */
    return template_fault(n->line, n->column, e);
}
