/* jq_program.c - runs libjq, always guarded, and turns its messages into errors. */
#include "data/jq_program.h"
#include "base/arena.h"
#include "data/jq_allowed.h"
#include "data/jq_guard.h"
#include <stdio.h>
#include <string.h>

struct JqProgram {
    Arena *arena;
    JqGuard guard;
    jq_state *jq;  /* NULL: lost when memory ran out */
    Text messages; /* of libjq while it compiles */
    jv result;     /* of the last run */
    Text failure;  /* of the last run */
    const JqInput *input;
    bool has_failed;
};

/* ---- what is called under the guard ---- */

static void keep_message(void *program, jv message)
{
    JqProgram *p = program;
    message = jq_format_error(message);
    if (p->messages.len) text_puts(&p->messages, "; ");
    if (jv_get_kind(message) == JV_KIND_STRING) text_puts(&p->messages, jv_string_value(message));
    jv_free(message);
}

/* As jq writes what `debug` is given. */
static void print_debug(void *unused, jv value)
{
    (void)unused;
    jv text = jv_dump_string(value, 0);
    fprintf(stderr, "[\"DEBUG:\",%s]\n", jv_string_value(text));
    jv_free(text);
}

static void compile_text(JqProgram *p, const char *text)
{
    text_clear(&p->messages);
    p->jq = jq_init();
    if (!p->jq) jq_guard_no_memory(NULL);
    jq_set_nomem_handler(p->jq, jq_guard_no_memory, NULL);
    jq_set_error_cb(p->jq, keep_message, p);
    jq_set_debug_cb(p->jq, print_debug, NULL);
    jq_set_input_cb(p->jq, NULL, NULL);
    p->has_failed = !jq_compile(p->jq, text);
    if (p->has_failed) jq_teardown(&p->jq);
}

static void compile(void *program)
{
    JqProgram *p = program;
    compile_text(p, arena_printf(p->arena, "%s%s", jq_refusing, p->guard.expression));
}

/* So that messages speak of what the user wrote. */
static void compile_as_written(void *program)
{
    JqProgram *p = program;
    compile_text(p, p->guard.expression);
}

static void teardown(void *program)
{
    JqProgram *p = program;
    jq_teardown(&p->jq);
}

static void drop_result(void *program)
{
    JqProgram *p = program;
    jv result = p->result;
    p->result = jv_invalid();
    jv_free(result);
}

/* libjq's form of an error is an invalid value with a message. */
static void fail(JqProgram *p, jv message)
{
    if (jv_get_kind(message) != JV_KIND_STRING) message = jv_dump_string(message, 0);
    p->has_failed = true;
    text_puts(&p->failure, jv_string_value(message));
    jv_free(message);
}

static void run(void *program)
{
    JqProgram *p = program;
    drop_result(p);
    jv value = p->input->make(p->input->arg);
    bool is_value = jv_is_valid(value);
    if (is_value) {
        jq_start(p->jq, value, 0);
        p->result = value = jq_next(p->jq);
        if (jq_halted(p->jq)) return fail(p, jv_string("the expression halts"));
    }
    if (!jv_is_valid(value) && (!is_value || jv_invalid_has_msg(jv_copy(value)))) {
        p->result = jv_invalid();
        fail(p, jv_invalid_get_msg(value));
    }
}

/* ---- the program ---- */

static bool guarded(JqProgram *p, Str input, void (*work)(void *))
{
    if (jq_guarded(&p->guard, input, work, p)) return true;
    /* What libjq held when it had no memory is whole but for the values of the last operation,
     * which are lost. */
    if (p->jq && !jq_guarded(&p->guard, input, teardown, p)) p->jq = NULL;
    p->result = jv_invalid();
    return false;
}

static Error *error_of(const JqProgram *p, const char *reason)
{
    return error_new("%s '%s': %s", p->guard.name, p->guard.expression, reason);
}

static const char no_memory[] = "libjq has not enough memory";

static Error *compile_allowed(JqProgram *p)
{
    const Str no_input = { 0 };
    const char *refused = jq_refused(p->guard.expression, "");
    if (!refused && !guarded(p, no_input, compile)) return error_of(p, no_memory);
    if (!refused && !p->has_failed) return NULL;
    if (!refused) refused = jq_refused(p->guard.expression, p->messages.ptr ? p->messages.ptr : "");
    if (refused) {
        return error_new("%s '%s': '%s' is not allowed: an expression sees what it is given, no "
                         "module, no further input and no environment",
                         p->guard.name, p->guard.expression, refused);
    }
    if (!guarded(p, no_input, compile_as_written)) return error_of(p, no_memory);
    return error_of(p, p->messages.len ? p->messages.ptr : "does not compile");
}

Error *jq_program_new(const char *name, const char *expression, JqProgram **out)
{
    Arena *a = arena_new();
    JqProgram *p = NEW(a, JqProgram);
    *p = (JqProgram){ .arena = a, .result = jv_invalid() };
    p->guard.name = arena_string(a, name);
    p->guard.expression = arena_string(a, expression);
    jq_guard_open(&p->guard);
    Error *e = compile_allowed(p);
    if (e)
        jq_program_free(p);
    else
        *out = p;
    return e;
}

void jq_program_free(JqProgram *p)
{
    const Str no_input = { 0 };
    if (!p) return;
    guarded(p, no_input, drop_result);
    guarded(p, no_input, teardown);
    jq_guard_close(&p->guard);
    text_free(&p->messages);
    text_free(&p->failure);
    arena_free(p->arena);
}

Error *jq_program_run(JqProgram *p, const JqInput *input, JqResult *out)
{
    *out = (JqResult){ .kind = JV_KIND_INVALID };
    if (!p->jq) TRY(compile_allowed(p));
    p->input = input;
    p->has_failed = false;
    text_clear(&p->failure);
    if (!guarded(p, input->shown, run)) return error_of(p, no_memory);
    if (p->has_failed) return error_of(p, p->failure.ptr);
    out->kind = jv_get_kind(p->result);
    if (out->kind == JV_KIND_STRING)
        out->text =
            (Str){ jv_string_value(p->result), (size_t)jv_string_length_bytes(jv_copy(p->result)) };
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
    return jq_unwanted(p->guard.name, p->guard.expression, found, needed);
}
