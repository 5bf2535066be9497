/* jq_allowed.c - finds modules, further inputs and the environment in an expression.
 *
 * Functions are left to libjq, which knows whose definition a name means: each is defined anew by
 * something that does not exist, and libjq drops definitions that nothing uses. Variables cannot be
 * dropped so, hence $ENV is searched for in the text, and modules may only stand at its beginning.
 */
#include "data/jq_allowed.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char jq_refusing[] = "def input: input_is_refused; def inputs: inputs_is_refused; "
                           "def env: env_is_refused; def modulemeta: modulemeta_is_refused; "
                           "def input_filename: input_filename_is_refused; "
                           "def input_line_number: input_line_number_is_refused; "
                           "def get_search_list: get_search_list_is_refused; ";

static const char *const functions[] = { "input",          "inputs",         "env",
                                         "modulemeta",     "input_filename", "input_line_number",
                                         "get_search_list" };
static const char *const openings[] = { "import", "include", "module" };

static const char *skip_blanks(const char *p)
{
    for (;;) {
        while (isspace((unsigned char)*p)) p++;
        if (*p != '#') return p;
        while (*p && *p != '\n' && *p != '\r') p++;
    }
}

static bool is_word(const char *p, const char *word)
{
    size_t n = strlen(word);
    return !strncmp(p, word, n) && !isalnum((unsigned char)p[n]) && p[n] != '_';
}

/* Inside strings only \( ... ) is looked at; those nest. */
static bool uses_environment(const char *p)
{
    enum { MOST = 100 };
    int n_open[MOST] = { 0 }, depth = 0; /* parentheses open in the code at each depth of strings */
    bool in_string = false;
    for (; *p; p++) {
        if (in_string) {
            if (*p == '"') in_string = false;
            if (*p != '\\' || !p[1]) continue;
            if (*++p != '(') continue;
            if (++depth == MOST) return true; /* nobody writes that */
            n_open[depth] = 0;
            in_string = false;
            continue;
        }
        if (*p == '#') p = skip_blanks(p);
        if (*p == '$' && is_word(skip_blanks(p + 1), "ENV")) return true;
        if (*p == '"') in_string = true;
        if (*p == '(') n_open[depth]++;
        if (*p == ')' && --n_open[depth] < 0 && depth > 0) {
            depth--;
            in_string = true;
        }
        if (!*p) return false;
    }
    return false;
}

const char *jq_refused(const char *expression, const char *messages)
{
    const char *first = skip_blanks(expression);
    for (size_t i = 0; i < sizeof openings / sizeof *openings; i++)
        if (is_word(first, openings[i])) return openings[i];
    if (uses_environment(expression)) return "$ENV";
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        char undefined[64];
        snprintf(undefined, sizeof undefined, " %s_is_refused/0 is not defined", functions[i]);
        if (strstr(messages, undefined)) return functions[i];
    }
    return NULL;
}
