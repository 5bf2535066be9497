/* template.h - chat templates: the part of Jinja that they use, set up as transformers does.
 *
 * template_parse refuses what it does not know at line and column, with what is allowed. Rendering
 * has no access to anything but the given variables and its work is bounded. docs/templates.md is
 * the reference. */
#ifndef TEMPLATE_TEMPLATE_H
#define TEMPLATE_TEMPLATE_H
#include "template/value.h"

/* A parsed template; read only, so threads may share it. */
typedef struct Template Template;

/* Parses; the template lives as long as the arena. With `joins_tags`, a newline between "}" and
 * "{" is none. */
Error *template_parse(Arena *a, Str source, bool joins_tags, Template **out);

typedef struct Variable {
    const char *name;
    TemplateValue value;
} Variable;

/* Bytes made and steps taken by one rendering at most; bounds its memory, too. */
enum { TEMPLATE_WORK = 1 << 28 };

/* Appends the rendered text; what it needs on the way comes from `scratch`. Errors begin with line
 * and column. */
Error *template_render(const Template *t, const Variable *variable, int n_variables, int64_t work,
                       Arena *scratch, Text *out);
#endif
