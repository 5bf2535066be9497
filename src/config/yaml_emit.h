/* yaml_emit.h - writing trees: YAML byte for byte as PyYAML's dump, and JSON. */
#ifndef CONFIG_YAML_EMIT_H
#define CONFIG_YAML_EMIT_H
#include "config/yaml.h"

/* Appends block style YAML: indent 2, width 80, keys sorted, non-ASCII escaped. */
void yaml_emit(const Yaml *node, Text *out);
/* What PyYAML's safe_load and dump with sort_keys=False make of a tree as it was read: keys in
 * their order, numbers such as 1e-5 as texts. */
void yaml_emit_unsorted(const Yaml *node, Text *out);
/* The same with allow_unicode: printable characters beyond ASCII stand for themselves. */
void yaml_emit_unicode(const Yaml *node, Text *out);
/* Appends JSON as Python's json.dumps writes it; indent 0 gives one line. Keys stay in order. */
void yaml_emit_json(const Yaml *node, int indent, Text *out);
#endif
