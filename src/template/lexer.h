/* lexer.h - a template's text as tokens: plain text, and the words and signs between {{ }} and
 * {% %}.
 *
 * White space is settled here, as transformers sets Jinja up: the newline after a tag or comment
 * goes (trim_blocks), and so do blanks between the beginning of a line and a tag (lstrip_blocks);
 * "-" at a delimiter takes all white space at that side, "+" keeps it. */
#ifndef TEMPLATE_LEXER_H
#define TEMPLATE_LEXER_H
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum TokenKind {
    TOKEN_DATA, /* plain text */
    TOKEN_OPEN_PRINT,
    TOKEN_CLOSE_PRINT,
    TOKEN_OPEN_TAG,
    TOKEN_CLOSE_TAG,
    TOKEN_NAME,
    TOKEN_STRING, /* `text` is its content, escapes undone */
    TOKEN_INT,
    TOKEN_FLOAT,
    TOKEN_SIGN, /* "+", "==", "(", ... */
    TOKEN_END
} TokenKind;

typedef struct Token {
    TokenKind kind;
    Str text;
    int line, column; /* from 1; columns count characters */
    int64_t integer;
    double number;
} Token;

typedef struct Tokens {
    Token *item; /* the last one is TOKEN_END */
    int64_t n;
} Tokens;

/* With `joins_tags`, a line that ends with "}" and a next one that begins with "{" are one line;
 * places still count it. */
Error *template_tokens(Arena *a, Str source, bool joins_tags, Tokens *out);
/* `fault` with "line 3, column 7: " in front. */
Error *template_fault(int line, int column, Error *fault);
#endif
