/* jq_program.c - runs libjq and turns its messages into errors. */
#include "data/jq_program.h"
#include "base/arena.h"
#include "base/str.h"
#include <string.h>

struct JqProgram {
    Arena *arena;
    const char *name, *expression;
    jq_state *jq;
    Text messages; /* of libjq while it compiles */
};

static void keep_message(void *program, jv message)
{
    JqProgram *p = program;
    message = jq_format_error(message);
    if (p->messages.len) text_puts(&p->messages, "; ");
    if (jv_get_kind(message) == JV_KIND_STRING) text_puts(&p->messages, jv_string_value(message));
    jv_free(message);
}

Error *jq_program_new(const char *name, const char *expression, JqProgram **out)
{
    Arena *a = arena_new();
    JqProgram *p = NEW(a, JqProgram);
    *p = (JqProgram){ .arena = a,
                      .name = arena_string(a, name),
                      .expression = arena_string(a, expression),
                      .jq = jq_init() };
    CHECK(p->jq != NULL);
    jq_set_error_cb(p->jq, keep_message, p);
    if (!jq_compile(p->jq, expression)) {
        Error *e = error_new("%s '%s': %s", name, expression,
                             p->messages.len ? p->messages.ptr : "does not compile");
        jq_program_free(p);
        return e;
    }
    *out = p;
    return NULL;
}

void jq_program_free(JqProgram *p)
{
    if (!p) return;
    jq_teardown(&p->jq);
    text_free(&p->messages);
    arena_free(p->arena);
}

/* Takes the message out of an invalid value, libjq's form of an error. */
static Error *jq_error(const JqProgram *p, jv invalid)
{
    jv message = jv_invalid_get_msg(invalid);
    if (jv_get_kind(message) != JV_KIND_STRING) message = jv_dump_string(message, 0);
    Error *e = error_new("%s '%s': %s", p->name, p->expression, jv_string_value(message));
    jv_free(message);
    return e;
}

Error *jq_program_run(JqProgram *p, jv value, jv *out)
{
    *out = jv_invalid();
    if (!jv_is_valid(value)) return jq_error(p, value);
    jq_start(p->jq, value, 0);
    jv result = jq_next(p->jq);
    if (!jv_is_valid(result) && jv_invalid_has_msg(jv_copy(result))) return jq_error(p, result);
    *out = result;
    return NULL;
}

Error *jq_unwanted(const char *name, const char *expression, jv_kind found, const char *needed)
{
    if (found == JV_KIND_NULL || found == JV_KIND_INVALID)
        return error_new("%s '%s' finds nothing", name, expression);
    const char *kind = jv_kind_name(found);
    return error_new("%s '%s' finds %s %s where %s is needed", name, expression,
                     strchr("ao", kind[0]) ? "an" : "a", kind, needed);
}

Error *jq_program_unwanted(const JqProgram *p, jv_kind found, const char *needed)
{
    return jq_unwanted(p->name, p->expression, found, needed);
}
