/* parser.h - shared by the parts of the parser: statements, expressions, operands. */
#ifndef TEMPLATE_PARSER_H
#define TEMPLATE_PARSER_H
#include "template/lexer.h"
#include "template/node.h"

typedef struct Parser {
    Arena *arena;
    const Token *at;
    Map *names;
    int depth;   /* of statements and brackets around this place */
    int n_loops; /* around this place, within the macro */
    bool is_macro;
} Parser;

enum { MOST_NESTING = 200 };

/* Errors name the place of a token (or of the current one). */
Error *parse_fault(const Parser *p, Error *fault);
Error *parse_fault_at(const Token *t, Error *fault);
/* "unexpected 'x': expected ...". */
Error *parse_unexpected(const Parser *p, const char *expected);
bool at_sign(const Parser *p, const char *sign);
bool at_word(const Parser *p, const char *word);
/* Takes the sign or word if it is next. */
bool take_if_sign(Parser *p, const char *sign);
bool take_if_word(Parser *p, const char *word);
Error *expect_sign(Parser *p, const char *sign);
Error *expect_name(Parser *p, const char *what, const char **out);
/* One statement or bracket deeper, which p->depth-- takes back; an error beyond MOST_NESTING. */
Error *parse_enter(Parser *p);
/* The one pointer that stands for this name. */
const char *unique_name(Parser *p, Str name);
Node *new_node(const Parser *p, NodeKind kind);
/* Adds one argument. */
void add_argument(Parser *p, Arguments *to, const char *name, const Node *node, Sign sign);

/* An expression, or several with commas between them, which are a tuple. Without `with_choice`,
 * "if" ends it. */
Error *parse_tuple(Parser *p, bool with_choice, const Node **out);
/* One expression. */
Error *parse_expression(Parser *p, const Node **out);
/* What stands between operators, with its sign, calls, filters and tests. */
Error *parse_operand(Parser *p, const Node **out);
/* Filters after an expression, beginning with "|"; none is allowed. */
Error *parse_filters(Parser *p, const Node *of, const Node **out);
/* Statements up to a tag that begins with one of the words (ends with NULL), which is not taken; up
 * to the end of the template when `ends` is NULL. */
Error *parse_body(Parser *p, const char *const *ends, Body *out);
#endif
