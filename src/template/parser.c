/* parser.c - what statements and expressions are parsed with: tokens, faults, nodes. */
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

Error *parse_enter(Parser *p)
{
    if (p->depth++ < MOST_NESTING) return NULL;
    return parse_fault(p, error_new("nested more than %d deep", MOST_NESTING));
}
