/* prompts.c - asks for the names of a prompt template. */
#include "prompts.h"
#include "base/log.h"
#include "base/signal.h"
#include "base/str.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct Prompts {
    const PromptTemplate *template;
    const char *given; /* --prompt, or NULL */
    bool is_person;    /* stdin is a terminal */
    int64_t n_lines, n_given;
    char bytes[4096]; /* of stdin: read, but not used before `at` */
    ssize_t n, at;
};

/* --prompt stands for one name, which may occur more than once. */
static Error *check_given(const PromptTemplate *t)
{
    for (int i = 0; i < t->n_names; i++)
        if (strcmp(t->name[i], t->name[0]) != 0)
            return error_usage("--prompt stands for one name, but the prompt_template has {%s} and "
                               "{%s}",
                               t->name[0], t->name[i]);
    if (t->n_names) return NULL;
    return error_usage("--prompt: the prompt_template has no {name} that it could stand for");
}

Error *prompts_new(Arena *a, const PromptTemplate *t, const char *given, Prompts **out)
{
    if (given) TRY(check_given(t));
    *out = NEW(a, Prompts);
    **out = (Prompts){ .template = t, .given = given, .is_person = isatty(STDIN_FILENO) };
    return NULL;
}

/* Waits for input, but looks now and then whether to stop: signals do not interrupt a read. No
 * bytes: the end, or a stop. */
static Error *fill(Prompts *p)
{
    enum { LOOK_EVERY_MS = 100 };
    p->n = p->at = 0;
    while (!signal_stop_requested()) {
        struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
        if (poll(&in, 1, LOOK_EVERY_MS) <= 0) continue;
        p->n = read(STDIN_FILENO, p->bytes, sizeof p->bytes);
        if (p->n >= 0) return NULL;
        if (errno != EINTR) return error_new("the input cannot be read: %s", strerror(errno));
    }
    p->n = 0;
    return NULL;
}

/* Appends the rest of the line; *is_there is false when the input had ended before. */
static Error *read_bytes(Prompts *p, Text *line, bool *is_there)
{
    for (*is_there = false;; *is_there = true) {
        if (p->at == p->n) TRY(fill(p));
        if (p->n == 0) return NULL;
        char c = p->bytes[p->at++];
        if (c != '\n') {
            text_putc(line, c);
            continue;
        }
        *is_there = true;
        return NULL;
    }
}

/* As Python's input(): without the end of the line, be it of Unix or of Windows. */
static Error *read_line(Arena *a, Prompts *p, const char **out)
{
    Text line = { 0 };
    bool is_there;
    Error *e = read_bytes(p, &line, &is_there);
    is_there = is_there && !signal_stop_requested();
    p->n_lines += is_there;
    if (line.len && line.ptr[line.len - 1] == '\r') line.ptr[--line.len] = 0;
    if (!e && line.ptr && strlen(line.ptr) != line.len)
        e = error_new("line %lld of the input holds a NUL character", (long long)p->n_lines);
    *out = is_there && !e ? arena_string(a, line.ptr ? line.ptr : "") : NULL;
    text_free(&line);
    return e;
}

/* The answer for one name; NULL at the end. The question stands in the output also when no person
 * reads it, as in the original. */
static Error *ask_name(Arena *a, Prompts *p, const char *name, const char **out)
{
    if (p->is_person) printf("%s: ", name);
    fflush(stdout);
    TRY(read_line(a, p, out));
    if (*out && !p->is_person) printf("%s: ", name);
    if (!*out && p->is_person) printf("\n");
    return NULL;
}

/* One line for each name of the template; NULL when the input has ended. */
static Error *ask(Arena *a, Prompts *p, const char **out)
{
    const char **answer = NEW_N(a, const char *, p->template->n_names);
    *out = NULL;
    for (int i = 0; i < p->template->n_names; i++) {
        const char *name = p->template->name[i];
        TRY(ask_name(a, p, name, &answer[i]));
        if (answer[i]) continue;
        if (i == 0 || p->is_person || signal_stop_requested()) return NULL;
        return error_new("the input ended after line %lld, before {%s} of the prompt_template",
                         (long long)p->n_lines, name);
    }
    *out = prompt_template_fill(a, p->template, answer);
    return NULL;
}

/* The prompt that asks for nothing: once. */
static Error *fixed_prompt(Arena *a, const Prompts *p, const char **out)
{
    const char **answer = NEW_N(a, const char *, p->template->n_names + 1);
    for (int i = 0; i < p->template->n_names; i++) answer[i] = p->given;
    *out = p->n_given ? NULL : prompt_template_fill(a, p->template, answer);
    if (*out && !**out) return error_new("the prompt is empty");
    return NULL;
}

static Error *asked_prompt(Arena *a, Prompts *p, const char **out)
{
    for (;;) {
        TRY(ask(a, p, out));
        if (!*out || **out) return NULL;
        if (!p->is_person)
            return error_new("line %lld of the input: the prompt is empty", (long long)p->n_lines);
        log_warning("the prompt is empty");
    }
}

Error *prompts_next(Arena *a, Prompts *p, const char **out)
{
    bool is_fixed = p->given || p->template->n_names == 0;
    TRY(is_fixed ? fixed_prompt(a, p, out) : asked_prompt(a, p, out));
    p->n_given++;
    return NULL;
}
