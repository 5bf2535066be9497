/* document.h - what a component takes, as text, Markdown and JSON schema; all from its Field table.
 */
#ifndef CONFIG_DOCUMENT_H
#define CONFIG_DOCUMENT_H
#include "config/registry.h"

typedef enum DocumentForm { DOCUMENT_TEXT, DOCUMENT_MARKDOWN } DocumentForm;

/* One component: its sentence, its settings with type, default and meaning, and an example of its
 * YAML. */
void document_component(const ComponentDef *def, DocumentForm form, Text *out);
/* One line per component of a kind, or of all kinds (NULL). False when there is no such kind. */
bool document_list(const Registry *r, const char *kind, Text *out);
/* The page docs/components.md. */
void document_page(const Registry *r, Text *out);
/* Rows of one table of settings, indented; for help of anything that has a table. */
void document_fields(const Field *fields, DocumentForm form, Text *out);
/* JSON schema (draft 2020-12) of a configuration file, for editors: any top-level keys; every
 * component's config is checked by its own table. */
void document_schema(const Registry *r, Text *out);
#endif
