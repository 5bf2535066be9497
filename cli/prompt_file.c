/* prompt_file.c - line by line: a mapping is read, its prompt answered, the mapping written. */
#include "prompt_file.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

/* NULL where the line has no such key. */
static Error *text_at(json_t *line, const char *key, const char **out)
{
    const json_t *v = json_object_get(line, key);
    *out = json_string_value(v);
    if (v && !*out) return error_new("'%s' is no text", key);
    if (*out && strlen(*out) != json_string_length(v))
        return error_new("'%s' holds a NUL character", key);
    return NULL;
}

/* The names of the template are keys; "prompt" stands for a single one. */
static Error *prompt_of(Arena *a, const PromptTemplate *t, json_t *line, const char **out)
{
    const char **answer = NEW_N(a, const char *, t->n_names + 1);
    bool is_single = true;
    for (int i = 1; i < t->n_names; i++) is_single &= !strcmp(t->name[i], t->name[0]);
    for (int i = 0; i < t->n_names; i++) {
        TRY(text_at(line, t->name[i], &answer[i]));
        if (!answer[i] && is_single) TRY(text_at(line, "prompt", &answer[i]));
        if (!answer[i])
            return error_new("there is no '%s'%s", t->name[i],
                             is_single ? ", and no 'prompt'" : "");
    }
    *out = prompt_template_fill(a, t, answer);
    return **out ? NULL : error_new("the prompt is empty");
}

/* What is done with every line. */
typedef struct Job {
    const PromptFile *file;
    const TextInference *inference;
    Generator *generator;
    AnswerSettings settings;
    AnswerEnd end; /* of the last answer */
} Job;

/* The line as it was, with two keys more. */
static void put_line(Str line, const Text *answer, const char *end, FILE *to)
{
    Text added = { 0 };
    size_t n = line.len;
    while (line.ptr[n - 1] != '}') n--; /* the mapping's */
    text_puts(&added, ", \"answer\": ");
    text_json_string(&added, (Str){ answer->ptr ? answer->ptr : "", answer->len });
    text_printf(&added, ", \"end\": \"%s\"}\n", end);
    fwrite(line.ptr, 1, n - 1, to);
    fwrite(added.ptr, 1, added.len, to);
    text_free(&added);
}

static Error *answer_entry(Job *j, Arena *a, json_t *entry, Str line, FILE *to)
{
    static const char *const ends[] = { [ANSWER_EOD] = "eod",
                                        [ANSWER_LIMIT] = "limit",
                                        [ANSWER_STOPPED] = "stopped",
                                        [ANSWER_TEXT] = "text" };
    const char *prompt;
    Text answer = { 0 };
    if (!json_is_object(entry)) return error_new("the line is no mapping");
    if (json_object_get(entry, "answer") || json_object_get(entry, "end"))
        return error_new("there is an 'answer' or 'end' already");
    TRY(prompt_of(a, j->file->template, entry, &prompt));
    j->settings.kept = &answer;
    Error *e =
        text_inference_answer(j->inference, j->generator, prompt, &j->settings, NULL, &j->end);
    if (!e && to && j->end != ANSWER_STOPPED) put_line(line, &answer, ends[j->end], to);
    j->settings.kept = NULL;
    text_free(&answer);
    return e;
}

static Error *answer_line(Job *j, Str line, FILE *to)
{
    json_error_t problem;
    json_t *entry = json_loadb(line.ptr, line.len, 0, &problem);
    if (!entry) return error_new("column %d: %s", problem.column, problem.text);
    Arena *a = arena_new();
    Error *e = answer_entry(j, a, entry, line, to);
    arena_free(a);
    json_decref(entry);
    return e;
}

static bool is_blank(Str line)
{
    size_t i = 0;
    while (i < line.len && strchr(" \t\r", line.ptr[i])) i++;
    return i == line.len;
}

static Error *answer_all(Job *j, Str text, FILE *to)
{
    int64_t number = 0;
    for (const char *at = text.ptr, *last = text.ptr + text.len; at < last;) {
        const char *newline = memchr(at, '\n', (size_t)(last - at)),
                   *stop = newline ? newline : last;
        const Str line = { at, (size_t)(stop - at) };
        at = stop + 1;
        number++;
        if (is_blank(line)) continue;
        TRY(error_wrap(answer_line(j, line, to), "%s:%" PRId64, j->file->from, number));
        if (j->end == ANSWER_STOPPED) break;
        j->settings.number++;
    }
    return NULL;
}

Error *prompt_file_answer(const PromptFile *f, const TextInference *t, Generator *g,
                          AnswerSettings s)
{
    Job j = { .file = f, .inference = t, .generator = g, .settings = s, .end = ANSWER_LIMIT };
    Arena *a = arena_new();
    Str text;
    NewFile out = { 0 };
    const bool leads = consensus_leads(s.together);
    Error *e = file_read(a, f->from, &text);
    if (!e && leads) e = file_create(f->to, &out);
    e = consensus_error(s.together, e);
    if (!e && !leads) e = answer_all(&j, text, NULL);
    if (!e && leads) {
        e = answer_all(&j, text, out.stream);
        if (e || j.end == ANSWER_STOPPED)
            file_abandon(&out);
        else
            e = file_commit(&out);
        if (!e && j.end == ANSWER_STOPPED)
            log_warning("stopped: %s was not written", f->to);
        else if (!e)
            log_info("%" PRId64 " answers in %s", j.settings.number, f->to);
    }
    arena_free(a);
    return e;
}
