/* parse_operand.c - what stands between operators: a value, a name or brackets, a sign before it,
 * and after it .name [item] (arguments) |filter is test. */
#include "template/function.h"
#include "template/parser.h"

/* ---- calls, filters, tests ---- */

/* The arguments of a call, from "(" to ")". */
static Error *parse_arguments(Parser *p, Arguments *out)
{
    bool has_names = false;
    TRY(expect_sign(p, "("));
    while (!take_if_sign(p, ")")) {
        if (out->n) TRY(expect_sign(p, ","));
        if (out->n && take_if_sign(p, ")")) return NULL;
        if (at_sign(p, "*") || at_sign(p, "**"))
            return parse_fault(p, error_new("'*' in a call is not supported: list the arguments"));
        const char *name = NULL;
        const Node *value;
        if (p->at->kind == TOKEN_NAME && p->at[1].kind == TOKEN_SIGN &&
            str_is(p->at[1].text, "=")) {
            name = unique_name(p, p->at->text);
            for (int64_t i = 0; i < out->n; i++)
                if (out->item[i].name == name)
                    return parse_fault(p, error_new("'%s' is given twice", name));
            p->at += 2;
            has_names = true;
        } else if (has_names) {
            return parse_fault(p, error_new("an argument without name after one with a name"));
        }
        TRY(parse_expression(p, &value));
        add_argument(p, out, name, value, 0);
    }
    return NULL;
}

static Error *find_function(const Token *t, FunctionKind kind, const Function **out)
{
    *out = function_find(kind, t->text);
    return *out ? NULL : parse_fault_at(t, function_unknown(kind, t->text));
}

static Error *parse_filter(Parser *p, const Node *of, const Node **out)
{
    Node *n = new_node(p, NODE_FILTER);
    if (p->at->kind != TOKEN_NAME) return parse_unexpected(p, "the name of a filter");
    TRY(find_function(p->at, FUNCTION_FILTER, &n->function));
    p->at++;
    n->left = of;
    if (at_sign(p, "(")) TRY(parse_arguments(p, &n->arguments));
    *out = n;
    return NULL;
}

Error *parse_filters(Parser *p, const Node *of, const Node **out)
{
    *out = of;
    while (take_if_sign(p, "|")) TRY(parse_filter(p, *out, out));
    return NULL;
}

static Error *parse_primary(Parser *p, const Node **out);
static Error *parse_postfix(Parser *p, const Node *of, const Node **out);

/* A test's argument may stand without brackets: "x is divisibleby 3". */
static bool at_bare_argument(const Parser *p)
{
    switch (p->at->kind) {
    case TOKEN_STRING:
    case TOKEN_INT:
    case TOKEN_FLOAT:
        return true;
    case TOKEN_NAME:
        return !at_word(p, "else") && !at_word(p, "or") && !at_word(p, "and");
    default:
        return at_sign(p, "[") || at_sign(p, "{");
    }
}

static Error *parse_test(Parser *p, const Node *of, const Node **out)
{
    Node *n = new_node(p, NODE_TEST), *negated = new_node(p, NODE_NOT);
    bool is_not = take_if_word(p, "not");
    if (p->at->kind != TOKEN_NAME) return parse_unexpected(p, "the name of a test");
    TRY(find_function(p->at, FUNCTION_TEST, &n->function));
    p->at++;
    n->left = of;
    if (at_sign(p, "(")) {
        TRY(parse_arguments(p, &n->arguments));
    } else if (at_word(p, "is")) {
        return parse_fault(p, error_new("tests with 'is' cannot follow one another: use 'and'"));
    } else if (at_bare_argument(p)) {
        const Node *argument = NULL;
        TRY(parse_primary(p, &argument));
        TRY(parse_postfix(p, argument, &argument));
        add_argument(p, &n->arguments, NULL, argument, 0);
    }
    negated->left = n;
    *out = is_not ? negated : n;
    return NULL;
}

/* ---- values, names, brackets ---- */

static Error *parse_constant(Parser *p, TemplateValue value, const Node **out)
{
    Node *n = new_node(p, NODE_VALUE);
    n->value = value;
    p->at++;
    *out = n;
    return NULL;
}

/* Texts side by side are one text. */
static Error *parse_text(Parser *p, const Node **out)
{
    Node *n = new_node(p, NODE_VALUE);
    Text joined = { 0 };
    for (; p->at->kind == TOKEN_STRING; p->at++)
        text_add(&joined, p->at->text.ptr, p->at->text.len);
    n->value = value_text_copy(p->arena, &joined);
    text_free(&joined);
    *out = n;
    return NULL;
}

static Error *parse_name(Parser *p, const Node **out)
{
    static const struct {
        const char *word;
        TemplateKind kind;
        bool boolean;
    } constant[] = { { "true", TEMPLATE_BOOL, true },   { "True", TEMPLATE_BOOL, true },
                     { "false", TEMPLATE_BOOL, false }, { "False", TEMPLATE_BOOL, false },
                     { "none", TEMPLATE_NONE, false },  { "None", TEMPLATE_NONE, false } };
    static const char *const of_macros[] = { "varargs", "kwargs", "caller", NULL };
    for (size_t i = 0; i < sizeof constant / sizeof *constant; i++)
        if (at_word(p, constant[i].word))
            return parse_constant(
                p,
                constant[i].kind == TEMPLATE_NONE ? value_none() : value_bool(constant[i].boolean),
                out);
    for (int i = 0; p->is_macro && of_macros[i]; i++)
        if (at_word(p, of_macros[i]))
            return parse_fault(p, error_new("'%s' is not supported: a macro has the arguments that "
                                            "it names",
                                            of_macros[i]));
    Node *n = new_node(p, NODE_NAME);
    n->name = unique_name(p, p->at->text);
    n->function = function_find(FUNCTION_GLOBAL, p->at->text);
    p->at++;
    *out = n;
    return NULL;
}

static Error *parse_list(Parser *p, const Node **out)
{
    Node *n = new_node(p, NODE_LIST);
    TRY(expect_sign(p, "["));
    while (!take_if_sign(p, "]")) {
        const Node *item;
        if (n->arguments.n) TRY(expect_sign(p, ","));
        if (n->arguments.n && take_if_sign(p, "]")) break;
        TRY(parse_expression(p, &item));
        add_argument(p, &n->arguments, NULL, item, 0);
    }
    *out = n;
    return NULL;
}

static Error *parse_map(Parser *p, const Node **out)
{
    Node *n = new_node(p, NODE_MAP);
    TRY(expect_sign(p, "{"));
    while (!take_if_sign(p, "}")) {
        const Node *key, *value;
        if (n->arguments.n) TRY(expect_sign(p, ","));
        if (n->arguments.n && take_if_sign(p, "}")) break;
        TRY(parse_expression(p, &key));
        TRY(expect_sign(p, ":"));
        TRY(parse_expression(p, &value));
        add_argument(p, &n->arguments, NULL, key, 0);
        add_argument(p, &n->arguments, NULL, value, 0);
    }
    *out = n;
    return NULL;
}

static Error *parse_brackets(Parser *p, const Node **out)
{
    TRY(expect_sign(p, "("));
    if (at_sign(p, ")")) {
        *out = new_node(p, NODE_TUPLE);
        p->at++;
        return NULL;
    }
    TRY(parse_tuple(p, true, out));
    return expect_sign(p, ")");
}

static Error *parse_primary(Parser *p, const Node **out)
{
    switch (p->at->kind) {
    case TOKEN_NAME:
        return parse_name(p, out);
    case TOKEN_STRING:
        return parse_text(p, out);
    case TOKEN_INT:
        return parse_constant(p, value_int(p->at->integer), out);
    case TOKEN_FLOAT:
        return parse_constant(p, value_float(p->at->number), out);
    default:
        break;
    }
    if (at_sign(p, "(")) return parse_brackets(p, out);
    if (at_sign(p, "[")) return parse_list(p, out);
    if (at_sign(p, "{")) return parse_map(p, out);
    return parse_unexpected(p, "a value, a name or a bracket");
}

/* Parts of [from:to:step], each of which may be absent. */
static Error *parse_subscript(Parser *p, const Node *of, const Node **out)
{
    Node *n = new_node(p, NODE_ITEM);
    n->left = of;
    *out = n;
    TRY(expect_sign(p, "["));
    if (!at_sign(p, ":")) TRY(parse_expression(p, &n->right));
    if (take_if_sign(p, "]")) return NULL;
    if (!at_sign(p, ":")) return parse_unexpected(p, "']' or ':'");
    n->kind = NODE_SLICE;
    add_argument(p, &n->arguments, NULL, n->right, 0);
    while (take_if_sign(p, ":")) {
        const Node *part = NULL;
        if (n->arguments.n == 3)
            return parse_fault(p, error_new("a slice has at most three parts"));
        if (!at_sign(p, ":") && !at_sign(p, "]")) TRY(parse_expression(p, &part));
        add_argument(p, &n->arguments, NULL, part, 0);
    }
    return expect_sign(p, "]");
}

static Error *parse_attribute(Parser *p, const Node *of, const Node **out)
{
    Node *n = new_node(p, NODE_ATTRIBUTE);
    n->left = of;
    *out = n;
    TRY(expect_sign(p, "."));
    if (p->at->kind == TOKEN_INT) { /* a.0 is a[0] */
        n->kind = NODE_ITEM;
        return parse_constant(p, value_int(p->at->integer), &n->right);
    }
    if (p->at->kind == TOKEN_NAME && p->at->text.ptr[0] == '_')
        return parse_fault(p, error_new("names that begin with '_' are private"));
    return expect_name(p, "the name of an attribute", &n->name);
}

static Error *parse_call(Parser *p, const Node *of, const Node **out)
{
    Node *n = new_node(p, NODE_CALL);
    n->left = of;
    *out = n;
    return parse_arguments(p, &n->arguments);
}

static Error *parse_postfix(Parser *p, const Node *of, const Node **out)
{
    *out = of;
    for (;;) {
        if (at_sign(p, "."))
            TRY(parse_attribute(p, *out, out));
        else if (at_sign(p, "["))
            TRY(parse_subscript(p, *out, out));
        else if (at_sign(p, "("))
            TRY(parse_call(p, *out, out));
        else
            return NULL;
    }
}

static Error *parse_signed(Parser *p, bool with_filters, const Node **out)
{
    TRY(parse_enter(p));
    Node *n = new_node(p, at_sign(p, "-") ? NODE_NEGATE : NODE_PLUS);
    if (take_if_sign(p, "-") || take_if_sign(p, "+")) {
        TRY(parse_signed(p, false, &n->left));
        *out = n;
    } else {
        TRY(parse_primary(p, out));
    }
    TRY(parse_postfix(p, *out, out));
    while (with_filters) {
        if (take_if_sign(p, "|"))
            TRY(parse_filter(p, *out, out));
        else if (take_if_word(p, "is"))
            TRY(parse_test(p, *out, out));
        else if (at_sign(p, "("))
            TRY(parse_call(p, *out, out));
        else
            break;
    }
    p->depth--;
    return NULL;
}

Error *parse_operand(Parser *p, const Node **out)
{
    return parse_signed(p, true, out);
}
