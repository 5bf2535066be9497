/* parse_expression.c - expressions, by descent from the loosest operator to the tightest:
 *
 *   x if c else y;  or;  and;  not;  == < in ...;  + -;  ~;  * / // %;  **;  - + as signs;
 *   a.b a[i] a(...);  x|filter  x is test */
#include "template/function.h"
#include "template/parser.h"
#include <stdio.h>

Error *parse_fault_at(const Token *t, Error *fault)
{
    return template_fault(t->line, t->column, fault);
}

Error *parse_fault(const Parser *p, Error *fault)
{
    return parse_fault_at(p->at, fault);
}

Error *parse_unexpected(const Parser *p, const char *expected)
{
    const char *quote = p->at->kind == TOKEN_END ? "" : "'";
    Str s = p->at->kind == TOKEN_DATA ? str_of("plain text") : p->at->text;
    return parse_fault(p, error_new("unexpected %s%.*s%s: expected %s", quote, (int)s.len, s.ptr,
                                    quote, expected));
}

bool at_sign(const Parser *p, const char *sign)
{
    return p->at->kind == TOKEN_SIGN && str_is(p->at->text, sign);
}

bool at_word(const Parser *p, const char *word)
{
    return p->at->kind == TOKEN_NAME && str_is(p->at->text, word);
}

bool take_if_sign(Parser *p, const char *sign)
{
    bool is = at_sign(p, sign);
    p->at += is;
    return is;
}

bool take_if_word(Parser *p, const char *word)
{
    bool is = at_word(p, word);
    p->at += is;
    return is;
}

Error *expect_sign(Parser *p, const char *sign)
{
    char expected[8];
    if (take_if_sign(p, sign)) return NULL;
    snprintf(expected, sizeof expected, "'%s'", sign);
    return parse_unexpected(p, expected);
}

Error *expect_name(Parser *p, const char *what, const char **out)
{
    if (p->at->kind != TOKEN_NAME) return parse_unexpected(p, what);
    *out = unique_name(p, p->at++->text);
    return NULL;
}

const char *unique_name(Parser *p, Str name)
{
    if (!map_has(p->names, name))
        map_set(p->names, name, arena_string_n(p->arena, name.ptr, name.len));
    return map_get(p->names, name);
}

Node *new_node(const Parser *p, NodeKind kind)
{
    Node *n = NEW(p->arena, Node);
    *n = (Node){ .kind = kind, .line = p->at->line, .column = p->at->column };
    return n;
}

void add_argument(Parser *p, Arguments *to, const char *name, const Node *node, Sign sign)
{
    to->item = arena_grow(p->arena, to->item, to->n, &to->cap, sizeof *to->item);
    to->item[to->n++] = (Argument){ .name = name, .node = node, .sign = sign };
}

static Error *enter(Parser *p)
{
    return p->depth++ < MOST_NESTING
               ? NULL
               : parse_fault(p, error_new("nested more than %d deep", MOST_NESTING));
}

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
            return parse_fault(p, error_new("an argument without name behind one with a name"));
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

static Error *parse_constant(Parser *p, Value value, const Node **out)
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
        ValueKind kind;
        bool boolean;
    } constant[] = { { "true", VALUE_BOOL, true },   { "True", VALUE_BOOL, true },
                     { "false", VALUE_BOOL, false }, { "False", VALUE_BOOL, false },
                     { "none", VALUE_NONE, false },  { "None", VALUE_NONE, false } };
    static const char *const of_macros[] = { "varargs", "kwargs", "caller", NULL };
    for (size_t i = 0; i < sizeof constant / sizeof *constant; i++)
        if (at_word(p, constant[i].word))
            return parse_constant(
                p, constant[i].kind == VALUE_NONE ? value_none() : value_bool(constant[i].boolean),
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

/* ---- operators ---- */

static Error *parse_signed(Parser *p, bool with_filters, const Node **out)
{
    TRY(enter(p));
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

/* One level of operators that group from the left. */
typedef struct Level {
    const char *sign;
    Sign meaning;
} Level;

static Error *parse_level(Parser *p, const Level *level,
                          Error *(*operand)(Parser *p, const Node **out), const Node **out)
{
    TRY(operand(p, out));
    for (;;) {
        const Level *found = level;
        while (found->sign && !at_sign(p, found->sign)) found++;
        if (!found->sign) return NULL;
        Node *n = new_node(p, NODE_COMPUTE);
        p->at++;
        n->sign = found->meaning;
        n->left = *out;
        TRY(operand(p, &n->right));
        *out = n;
    }
}

static Error *parse_unary(Parser *p, const Node **out)
{
    return parse_signed(p, true, out);
}

static Error *parse_power(Parser *p, const Node **out)
{
    static const Level level[] = { { "**", SIGN_POWER }, { 0 } };
    return parse_level(p, level, parse_unary, out);
}

static Error *parse_product(Parser *p, const Node **out)
{
    static const Level level[] = { { "*", SIGN_MULTIPLY },
                                   { "/", SIGN_DIVIDE },
                                   { "//", SIGN_FLOOR_DIVIDE },
                                   { "%", SIGN_REMAINDER },
                                   { 0 } };
    return parse_level(p, level, parse_power, out);
}

static Error *parse_concat(Parser *p, const Node **out)
{
    TRY(parse_product(p, out));
    if (!at_sign(p, "~")) return NULL;
    Node *n = new_node(p, NODE_CONCAT);
    add_argument(p, &n->arguments, NULL, *out, 0);
    while (take_if_sign(p, "~")) {
        const Node *part;
        TRY(parse_product(p, &part));
        add_argument(p, &n->arguments, NULL, part, 0);
    }
    *out = n;
    return NULL;
}

static Error *parse_sum(Parser *p, const Node **out)
{
    static const Level level[] = { { "+", SIGN_ADD }, { "-", SIGN_SUBTRACT }, { 0 } };
    return parse_level(p, level, parse_concat, out);
}

static bool take_comparison(Parser *p, Sign *sign)
{
    static const Level level[] = { { "==", SIGN_EQUAL },  { "!=", SIGN_UNEQUAL },
                                   { "<", SIGN_LESS },    { "<=", SIGN_LESS_EQUAL },
                                   { ">", SIGN_GREATER }, { ">=", SIGN_GREATER_EQUAL } };
    for (size_t i = 0; i < sizeof level / sizeof *level; i++) {
        if (!take_if_sign(p, level[i].sign)) continue;
        *sign = level[i].meaning;
        return true;
    }
    if (take_if_word(p, "in")) {
        *sign = SIGN_IN;
        return true;
    }
    if (at_word(p, "not") && p->at[1].kind == TOKEN_NAME && str_is(p->at[1].text, "in")) {
        p->at += 2;
        *sign = SIGN_NOT_IN;
        return true;
    }
    return false;
}

static Error *parse_comparison(Parser *p, const Node **out)
{
    TRY(parse_sum(p, out));
    Node *n = new_node(p, NODE_COMPARE);
    Sign sign;
    while (take_comparison(p, &sign)) {
        const Node *right;
        TRY(parse_sum(p, &right));
        add_argument(p, &n->arguments, NULL, right, sign);
    }
    if (!n->arguments.n) return NULL;
    n->left = *out;
    *out = n;
    return NULL;
}

static Error *parse_not(Parser *p, const Node **out)
{
    if (!at_word(p, "not")) return parse_comparison(p, out);
    Node *n = new_node(p, NODE_NOT);
    p->at++;
    TRY(enter(p));
    TRY(parse_not(p, &n->left));
    p->depth--;
    *out = n;
    return NULL;
}

static Error *parse_logic(Parser *p, const char *word, NodeKind kind,
                          Error *(*operand)(Parser *p, const Node **out), const Node **out)
{
    TRY(operand(p, out));
    while (at_word(p, word)) {
        Node *n = new_node(p, kind);
        p->at++;
        n->left = *out;
        TRY(operand(p, &n->right));
        *out = n;
    }
    return NULL;
}

static Error *parse_and(Parser *p, const Node **out)
{
    return parse_logic(p, "and", NODE_AND, parse_not, out);
}

static Error *parse_or(Parser *p, const Node **out)
{
    return parse_logic(p, "or", NODE_OR, parse_and, out);
}

static Error *parse_choice(Parser *p, const Node **out)
{
    TRY(parse_or(p, out));
    while (at_word(p, "if")) {
        Node *n = new_node(p, NODE_CHOICE);
        p->at++;
        n->left = *out;
        TRY(parse_or(p, &n->right));
        if (take_if_word(p, "else")) {
            TRY(enter(p));
            TRY(parse_choice(p, &n->third));
            p->depth--;
        }
        *out = n;
    }
    return NULL;
}

Error *parse_expression(Parser *p, const Node **out)
{
    TRY(enter(p));
    TRY(parse_choice(p, out));
    p->depth--;
    return NULL;
}

static bool ends_tuple(const Parser *p)
{
    return p->at->kind == TOKEN_CLOSE_PRINT || p->at->kind == TOKEN_CLOSE_TAG || at_sign(p, ")");
}

Error *parse_tuple(Parser *p, bool with_choice, const Node **out)
{
    Error *(*parse)(Parser *, const Node **) = with_choice ? parse_expression : parse_or;
    Node *n = new_node(p, NODE_TUPLE);
    TRY(parse(p, out));
    if (!at_sign(p, ",")) return NULL;
    add_argument(p, &n->arguments, NULL, *out, 0);
    while (take_if_sign(p, ",") && !ends_tuple(p)) {
        const Node *item;
        TRY(parse(p, &item));
        add_argument(p, &n->arguments, NULL, item, 0);
    }
    *out = n;
    return NULL;
}
