/* text_query.c - runs a jq pattern on lines of JSON. */
#include "data/text_query.h"
#include "base/arena.h"
#include "base/json_scan.h"
#include <ctype.h>
#include <jq.h>
#include <string.h>

enum { MAX_KEYS = 16 };

struct TextQuery {
    Arena *arena;
    const char *pattern;
    jq_state *jq;
    Text messages; /* of libjq while it compiles */
    Str key[MAX_KEYS];
    int n_keys; /* 0: the pattern is more than keys */
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

static void keep_message(void *query, jv message)
{
    TextQuery *q = query;
    message = jq_format_error(message);
    if (q->messages.len) text_puts(&q->messages, "; ");
    if (jv_get_kind(message) == JV_KIND_STRING) text_puts(&q->messages, jv_string_value(message));
    jv_free(message);
}

Error *text_query_new(const char *pattern, TextQuery **out)
{
    Arena *a = arena_new();
    TextQuery *q = NEW(a, TextQuery);
    q->arena = a;
    q->pattern = arena_string(a, pattern);
    q->jq = jq_init();
    CHECK(q->jq != NULL);
    jq_set_error_cb(q->jq, keep_message, q);
    if (!jq_compile(q->jq, pattern)) {
        Error *e = error_new("jq_pattern '%s': %s", pattern,
                             q->messages.len ? q->messages.ptr : "does not compile");
        text_query_free(q);
        return e;
    }
    q->n_keys = plain_keys(q->pattern, q->key);
    *out = q;
    return NULL;
}

void text_query_free(TextQuery *q)
{
    if (!q) return;
    jq_teardown(&q->jq);
    text_free(&q->messages);
    arena_free(q->arena);
}

static Error *not_text(const TextQuery *q, const char *kind)
{
    if (!strcmp(kind, "null")) return error_new("jq_pattern '%s' finds nothing", q->pattern);
    return error_new("jq_pattern '%s' finds %s %s where a string is needed", q->pattern,
                     strchr("ao", kind[0]) ? "an" : "a", kind);
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
        return error_new("jq_pattern '%s': Cannot index %s with string \"%.*s\"", q->pattern,
                         json_kind_name(found.kind), (int)key.len, key.ptr);
    }
    return found.kind == JSON_STRING ? NULL : not_text(q, json_kind_name(found.kind));
}

/* Takes the message out of an invalid value, libjq's form of an error. */
static Error *jq_error(const TextQuery *q, jv invalid, const char *what)
{
    jv message = jv_invalid_get_msg(invalid);
    if (jv_get_kind(message) != JV_KIND_STRING) message = jv_dump_string(message, 0);
    Error *e = error_new("jq_pattern '%s': %s%s", q->pattern, what, jv_string_value(message));
    jv_free(message);
    return e;
}

static Error *take_result(const TextQuery *q, jv result, Text *out)
{
    Error *e = NULL;
    if (jv_get_kind(result) == JV_KIND_STRING)
        text_add(out, jv_string_value(result), (size_t)jv_string_length_bytes(jv_copy(result)));
    else if (jv_is_valid(result))
        e = not_text(q, jv_kind_name(jv_get_kind(result)));
    else if (jv_invalid_has_msg(jv_copy(result)))
        return jq_error(q, result, "");
    else
        e = not_text(q, "null");
    jv_free(result);
    return e;
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
    jv value = jv_parse_sized(line.ptr, (int)line.len);
    if (!jv_is_valid(value)) return jq_error(q, value, "");
    text_clear(out);
    jq_start(q->jq, value, 0);
    return take_result(q, jq_next(q->jq), out);
}

Error *text_query_run(TextQuery *q, Str line, Text *out, int64_t *column)
{
    *column = -1;
    return q->n_keys ? run_keys(q, line, out, column) : run_program(q, line, out, column);
}
