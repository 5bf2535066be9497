/* short_form.h - what model.parallelized says in one block, in the words of the long form. */
#ifndef CLI_SHORT_FORM_H
#define CLI_SHORT_FORM_H
#include "config/registry.h"
#include "config/yaml.h"

/* Comment lines for each such block of a resolved configuration: the wrappers that would say the
 * same, and what none of them can say. */
void short_form_explain(const Registry *r, const Yaml *root, Text *out);
#endif
