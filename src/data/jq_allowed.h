/* jq_allowed.h - expressions see the value they are given and nothing else. */
#ifndef DATA_JQ_ALLOWED_H
#define DATA_JQ_ALLOWED_H

/* Definitions to put before an expression: what is not allowed is then undefined, so that it does
 * not compile. */
extern const char jq_refusing[];
/* What an expression uses that is not allowed ("input", "$ENV", "import"), else NULL: by its text,
 * and by the messages of libjq for it after `jq_refusing` ("" before it was compiled). */
const char *jq_refused(const char *expression, const char *messages);
#endif
