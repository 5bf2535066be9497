/* parse_expression.c - operators, by descent from the loosest to the tightest:
 *
 *   x if c else y;  or;  and;  not;  == < in ...;  + -;  ~;  * / // %;  **;  operands */
#include "template/parser.h"

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

static Error *parse_power(Parser *p, const Node **out)
{
    static const Level level[] = { { "**", SIGN_POWER }, { 0 } };
    return parse_level(p, level, parse_operand, out);
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
    TRY(parse_enter(p));
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
            TRY(parse_enter(p));
            TRY(parse_choice(p, &n->third));
            p->depth--;
        }
        *out = n;
    }
    return NULL;
}

Error *parse_expression(Parser *p, const Node **out)
{
    TRY(parse_enter(p));
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
