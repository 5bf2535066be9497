/* prompt_file.c - mappings are read, their prompts answered, the mappings written. */
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

/* The lines that are not blank. */
typedef struct Lines {
    Arena *arena;
    const PromptFile *file;
    Str *line;
    Asked *asked;
    int64_t n, cap_line, cap_asked;
} Lines;

static Error *prompt_of_entry(const Lines *l, json_t *entry, const char **out)
{
    if (!json_is_object(entry)) return error_new("the line is no mapping");
    if (json_object_get(entry, "answer") || json_object_get(entry, "end"))
        return error_new("there is an 'answer' or 'end' already");
    return prompt_of(l->arena, l->file->template, entry, out);
}

static Error *add_line(Lines *l, Str line, const char *place)
{
    json_error_t problem;
    const char *prompt = NULL;
    json_t *entry = json_loadb(line.ptr, line.len, 0, &problem);
    if (!entry) return error_new("column %d: %s", problem.column, problem.text);
    Error *e = prompt_of_entry(l, entry, &prompt);
    if (!e) prompt = arena_string(l->arena, prompt);
    json_decref(entry);
    if (e) return e;
    l->line = arena_grow(l->arena, l->line, l->n, &l->cap_line, sizeof *l->line);
    l->asked = arena_grow(l->arena, l->asked, l->n, &l->cap_asked, sizeof *l->asked);
    l->line[l->n] = line;
    l->asked[l->n] = (Asked){ .text = prompt, .place = place, .number = l->n };
    l->n++;
    return NULL;
}

static bool is_blank(Str line)
{
    size_t i = 0;
    while (i < line.len && strchr(" \t\r", line.ptr[i])) i++;
    return i == line.len;
}

static Error *read_lines(Lines *l, Str text)
{
    int64_t number = 0;
    for (const char *at = text.ptr, *last = text.ptr + text.len; at < last;) {
        const char *newline = memchr(at, '\n', (size_t)(last - at)),
                   *stop = newline ? newline : last;
        const Str line = { at, (size_t)(stop - at) };
        at = stop + 1;
        number++;
        if (is_blank(line)) continue;
        const char *place = arena_printf(l->arena, "%s:%" PRId64, l->file->from, number);
        TRY(error_wrap(add_line(l, line, place), "%s", place));
    }
    return NULL;
}

/* The line as it was, with two keys more. */
static void put_line(Str line, const Asked *p, FILE *to)
{
    static const char *const ends[] = { [ANSWER_EOD] = "eod",
                                        [ANSWER_LIMIT] = "limit",
                                        [ANSWER_STOPPED] = "stopped",
                                        [ANSWER_TEXT] = "text" };
    Text added = { 0 };
    size_t n = line.len;
    while (line.ptr[n - 1] != '}') n--; /* the mapping's */
    text_puts(&added, ", \"answer\": ");
    text_json_string(&added, (Str){ p->answer.ptr ? p->answer.ptr : "", p->answer.len });
    text_printf(&added, ", \"end\": \"%s\"}\n", ends[p->end]);
    fwrite(line.ptr, 1, n - 1, to);
    fwrite(added.ptr, 1, added.len, to);
    text_free(&added);
}

static Error *write_answers(const Lines *l, NewFile *out)
{
    bool is_stopped = false;
    for (int64_t i = 0; i < l->n; i++) {
        put_line(l->line[i], &l->asked[i], out->stream);
        is_stopped |= l->asked[i].end == ANSWER_STOPPED;
    }
    if (is_stopped) {
        file_abandon(out);
        log_warning("stopped: %s was not written", l->file->to);
        return NULL;
    }
    TRY(file_commit(out));
    log_info("%" PRId64 " answers in %s", l->n, l->file->to);
    return NULL;
}

Error *prompt_file_answer(const PromptFile *f, const TextInference *t, Generator *g,
                          int64_t at_once, const AnswerSettings *s)
{
    Lines l = { .arena = arena_new(), .file = f };
    Str text;
    NewFile out = { 0 };
    const bool leads = consensus_leads(s->together);
    Error *e = file_read(l.arena, f->from, &text);
    if (!e) e = read_lines(&l, text);
    if (!e && leads) e = file_create(f->to, &out);
    e = consensus_error(s->together, e);
    if (!e) {
        e = text_inference_answer_all(t, g, at_once, l.asked, l.n, s, NULL);
        if (e && leads) file_abandon(&out);
    }
    if (!e && leads) e = write_answers(&l, &out);
    for (int64_t i = 0; i < l.n; i++) text_free(&l.asked[i].answer);
    arena_free(l.arena);
    return e;
}
