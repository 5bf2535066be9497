/* yaml_analyze.h - which ways to write a text in YAML read back as the same text. */
#ifndef CONFIG_YAML_ANALYZE_H
#define CONFIG_YAML_ANALYZE_H
#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

/* The code points of a text. */
typedef struct Runes {
    const uint32_t *at;
    int n;
} Runes;

/* A byte that is no UTF-8 stands for itself. */
Runes yaml_runes(Arena *a, const char *text, size_t len);

typedef struct ScalarAnalysis {
    bool is_multiline, allows_plain, allows_single_quotes;
} ScalarAnalysis;

/* With `keeps_unicode`, printable characters beyond ASCII need no escapes. */
ScalarAnalysis yaml_analyze(Runes t, bool keeps_unicode);
/* Ends a line. */
bool yaml_is_break(uint32_t c);
/* Beyond ASCII, and printable for PyYAML. */
bool yaml_is_printable(uint32_t c);
#endif
