/* text_query.c - runs a jq pattern on lines of JSON. */
#include "data/text_query.h"
#include "base/arena.h"
#include "base/json_scan.h"
#include "data/jq_program.h"
#include <ctype.h>

enum { MAX_KEYS = 16 };

static const char SETTING[] = "jq_pattern";

struct TextQuery {
    Arena *arena;
    const char *pattern;
    Str key[MAX_KEYS];
    int n_keys;         /* 0: the pattern is more than keys, */
    JqProgram *program; /* which is compiled; that takes 20 ms */
};

static const jv_kind jq_kinds[] = {
    [JSON_NULL] = JV_KIND_NULL,     [JSON_BOOLEAN] = JV_KIND_TRUE, [JSON_NUMBER] = JV_KIND_NUMBER,
    [JSON_STRING] = JV_KIND_STRING, [JSON_ARRAY] = JV_KIND_ARRAY,  [JSON_OBJECT] = JV_KIND_OBJECT,
};

/* .key.key and nothing else; keys as jq's lexer takes them. */
static int plain_keys(const char *p, Str key[MAX_KEYS])
{
    int n = 0;
    while (*p == ' ') p++;
    for (; *p == '.' && n < MAX_KEYS; n++) {
        const char *from = ++p;
        if (!isalpha((uint8_t)*p) && *p != '_') return 0;
        while (isalnum((uint8_t)*p) || *p == '_') p++;
        key[n] = (Str){ from, (size_t)(p - from) };
    }
    while (*p == ' ') p++;
    return *p ? 0 : n;
}

Error *text_query_new(const char *pattern, TextQuery **out)
{
    Arena *a = arena_new();
    TextQuery *q = NEW(a, TextQuery);
    *q = (TextQuery){ .arena = a, .pattern = arena_string(a, pattern) };
    q->n_keys = plain_keys(q->pattern, q->key);
    Error *e = q->n_keys ? NULL : jq_program_new(SETTING, pattern, &q->program);
    if (e) arena_free(a);
    if (!e) *out = q;
    return e;
}

void text_query_free(TextQuery *q)
{
    if (!q) return;
    jq_program_free(q->program);
    arena_free(q->arena);
}

static Error *run_keys(TextQuery *q, Str line, Text *out, int64_t *column)
{
    JsonFound found;
    JsonFault fault;
    if (!json_find(line, q->key, q->n_keys, out, &found, &fault)) {
        *column = fault.offset;
        return error_new("%s", fault.reason);
    }
    bool blocked = found.depth < q->n_keys && found.kind != JSON_NULL;
    if (blocked) {
        Str key = q->key[found.depth];
        return error_new("%s '%s': Cannot index %s with string \"%.*s\"", SETTING, q->pattern,
                         json_kind_name(found.kind), (int)key.len, key.ptr);
    }
    if (found.kind == JSON_STRING) return NULL;
    return jq_unwanted(SETTING, q->pattern, jq_kinds[found.kind], "a string");
}

static jv parse_line(const void *line)
{
    const Str *l = line;
    return jv_parse_sized(l->ptr, (int)l->len);
}

static Error *run_program(TextQuery *q, Str line, Text *out, int64_t *column)
{
    /* libjq repairs or takes what is no JSON; one grammar holds for all patterns. */
    JsonFault fault;
    if (!json_check(line, SURROGATES_FAIL, &fault)) {
        *column = fault.offset;
        return error_new("%s", fault.reason);
    }
    if (line.len > INT32_MAX)
        return error_new("a line of more than 2 GiB, which libjq cannot take");
    JqResult result;
    text_clear(out);
    TRY(jq_program_run(q->program, &(JqInput){ parse_line, &line, line }, &result));
    if (result.kind != JV_KIND_STRING)
        return jq_program_unwanted(q->program, result.kind, "a string");
    text_add(out, result.text.ptr, result.text.len);
    return NULL;
}

Error *text_query_run(TextQuery *q, Str line, Text *out, int64_t *column)
{
    *column = -1;
    return q->n_keys ? run_keys(q, line, out, column) : run_program(q, line, out, column);
}
