/* text_query.h - the text of a document: what a jq pattern finds in its line. */
#ifndef DATA_TEXT_QUERY_H
#define DATA_TEXT_QUERY_H
#include "base/error.h"
#include "base/str.h"
#include <stdint.h>

/* A compiled pattern; each thread has its own. Patterns of plain keys (.text, .meta.body) are
 * looked up without building a tree, all others run in libjq; both give the same. */
typedef struct TextQuery TextQuery;

/* An error carries libjq's message about the pattern. */
Error *text_query_new(const char *pattern, TextQuery **out);
void text_query_free(TextQuery *q);
/* The string that the pattern gives for this line of JSON (the first result counts) replaces `out`.
 * The error says why the line cannot be used; *column is then the byte of the line it is about, or
 * -1. */
Error *text_query_run(TextQuery *q, Str line, Text *out, int64_t *column);
#endif
