/* usage.c - the help texts of the program, its groups and its commands. */
#include "base/environment.h"
#include "base/terminal.h"
#include "command.h"
#include "config/field_read.h"
#include <ctype.h>
#include <string.h>

/* What a help text is written on; `column` is where explanations of options begin. */
typedef struct Page {
    Text *out;
    int width, column;
} Page;

/* On a narrow page explanations stand below what they explain. */
static Page page_of(int width, Text *out)
{
    return (Page){ .out = out, .width = width, .column = width >= 90 ? 36 : width >= 72 ? 30 : 8 };
}

int usage_width(void)
{
    enum { LEAST = 40, MOST = 96 };
    int width = terminal_width(1);
    return width < LEAST ? LEAST : width > MOST ? MOST : width;
}

/* Breaks a text at blanks; every line after the first begins at `indent`. `column` is where it
 * starts. */
static void wrap(const Page *p, const char *text, int indent, int column)
{
    Text *out = p->out;
    while (*text) {
        size_t n = strcspn(text, " \n");
        if (column > indent && column + (int)n > p->width) {
            if (out->ptr[out->len - 1] == ' ') out->ptr[--out->len] = 0;
            text_printf(out, "\n%*s", indent, "");
            column = indent;
        }
        text_add(out, text, n);
        column += (int)n;
        text += n;
        if (*text == '\n') {
            text_printf(out, "\n%*s", indent, "");
            column = indent;
        } else if (*text) {
            text_putc(out, ' ');
            column++;
        }
        if (*text) text++;
    }
    text_putc(out, '\n');
}

static bool is_argument(const Field *f)
{
    return f->flags & FIELD_ARGUMENT;
}

static void put_upper(Text *out, const char *s)
{
    for (; *s; s++) text_putc(out, (char)toupper((unsigned char)*s));
}

/* What stands for the value: PATH, INT, [skip|error]. */
static void put_placeholder(const Field *f, Text *out)
{
    const Field *item = f->type == FIELD_LIST ? f->fields : f;
    if (item->choices) {
        text_putc(out, '[');
        for (int i = 0; item->choices[i]; i++) {
            text_puts(out, i ? "|" : "");
            text_add(out, item->choices[i], strcspn(item->choices[i], "|"));
        }
        text_putc(out, ']');
        return;
    }
    switch (item->type) {
    case FIELD_INT:
        text_puts(out, "INT");
        return;
    case FIELD_FLOAT:
        text_puts(out, "NUMBER");
        return;
    case FIELD_PATH:
        text_puts(out, "PATH");
        return;
    default:
        text_puts(out, "TEXT");
        return;
    }
}

/* Choices that take more than the page has go on below, after a |. */
static void put_name(const Page *p, const char *name)
{
    enum { INDENT = 6 };
    int column = 2;
    text_puts(p->out, "  ");
    for (size_t n; *name; name += n) {
        n = strcspn(name, "|");
        n += name[n] == '|';
        if (column > INDENT && column + (int)n > p->width) {
            text_printf(p->out, "\n%*s", INDENT, "");
            column = INDENT;
        }
        text_add(p->out, name, n);
        column += (int)n;
    }
    text_printf(p->out, "%*s", column < p->column ? p->column - column : 0, "");
}

/* The name at the left, its explanation in the column, or below where the name takes it up. */
static void put_pair(const Page *p, const char *name, const char *doc)
{
    put_name(p, name);
    if ((int)strlen(name) > p->column - 3) text_printf(p->out, "\n%*s", p->column, "");
    wrap(p, doc, p->column, p->column);
}

static void put_row(const Page *p, const Field *f)
{
    Text left = { 0 }, right = { 0 };
    if (is_argument(f)) {
        put_upper(&left, f->name);
        if (f->type == FIELD_LIST) text_puts(&left, "...");
    } else {
        text_printf(&left, "--%s%s", f->name, f->type == FIELD_BOOL ? "" : " ");
        if (f->type != FIELD_BOOL) put_placeholder(f, &left);
    }
    text_puts(&right, f->doc);
    bool has_default = f->fallback && strcmp(f->fallback, "null") && strcmp(f->fallback, "[]") &&
                       f->type != FIELD_BOOL;
    if (has_default) text_printf(&right, " [default: %s]", f->fallback);
    if (f->type == FIELD_LIST && !is_argument(f)) text_puts(&right, " [may be repeated]");
    if (!f->fallback && !is_argument(f)) text_puts(&right, " [required]");
    put_pair(p, left.ptr, right.ptr);
    text_free(&left);
    text_free(&right);
}

static void put_rows(const Page *p, const Command *c, bool arguments)
{
    for (const Field *f = c->options; f && f->type != FIELD_END; f++)
        if (is_argument(f) == arguments) put_row(p, f);
}

static bool has_arguments(const Command *c)
{
    for (const Field *f = c->options; f && f->type != FIELD_END; f++)
        if (is_argument(f)) return true;
    return false;
}

/* Bytes until a blank that is not within quotes. */
static size_t shell_word(const char *line, size_t n)
{
    char quote = 0;
    size_t at = 0;
    for (; at < n && (quote || line[at] != ' '); at++)
        if (quote ? line[at] == quote : line[at] == '\'' || line[at] == '"')
            quote = quote ? 0 : line[at];
    return at;
}

/* A word, or an option with its value, if both together have `room`. */
static size_t shell_words(const char *line, size_t n, int room)
{
    size_t word = shell_word(line, n), both = word;
    bool has_value = n > word + 1 && !strncmp(line, "--", 2) && line[word + 1] != '-';
    if (has_value) both += 1 + shell_word(line + word + 1, n - word - 1);
    return (int)both <= room ? both : word;
}

/* A command line; what is too long for the page goes on after a backslash, to be typed as it
 * stands. */
static void put_example(const Page *p, const char *line, size_t n)
{
    enum { INDENT = 6, CONTINUED = 2 };
    int column = 2;
    text_puts(p->out, "  ");
    for (size_t at = 0, word; at < n; at += word + 1) {
        word = shell_words(line + at, n - at, p->width - INDENT - CONTINUED);
        int room = p->width - (at + word < n ? CONTINUED : 0);
        if (column > INDENT && column + 1 + (int)word > room) {
            text_printf(p->out, " \\\n%*s", INDENT, "");
            column = INDENT;
        } else if (at) {
            text_putc(p->out, ' ');
            column++;
        }
        text_add(p->out, line + at, word);
        column += (int)word;
    }
    text_putc(p->out, '\n');
}

void command_help(const Command *c, int width, Text *out)
{
    const Page p = page_of(width, out);
    Text line = { 0 };
    text_printf(&line, "Usage: modalities %s%s%s [OPTIONS]", c->group ? c->group : "",
                c->group ? " " : "", c->name);
    for (const Field *f = c->options; f && f->type != FIELD_END; f++) {
        if (!is_argument(f)) continue;
        text_puts(&line, f->fallback ? " [" : " ");
        put_upper(&line, f->name);
        text_puts(&line, f->type == FIELD_LIST ? "..." : "");
        text_puts(&line, f->fallback ? "]" : "");
    }
    wrap(&p, line.ptr, 4, 0);
    text_free(&line);
    text_puts(out, "\n  ");
    wrap(&p, c->doc, 2, 2);
    if (c->details) {
        text_puts(out, "\n  ");
        wrap(&p, c->details, 2, 2);
    }
    if (has_arguments(c)) {
        text_puts(out, "\nArguments:\n");
        put_rows(&p, c, true);
    }
    text_puts(out, "\nOptions:\n");
    put_rows(&p, c, false);
    put_pair(&p, "-h, --help", "Show this text and exit.");
    if (!c->examples) return;
    text_puts(out, "\nExamples:\n");
    for (const char *at = c->examples; *at;) {
        size_t n = strcspn(at, "\n");
        put_example(&p, at, n);
        at += n + (at[n] == '\n');
    }
}

void environment_help(int width, Text *out)
{
    const Page p = page_of(width, out);
    for (const EnvironmentVariable *v = environment_variables; v->name; v++)
        put_pair(&p, v->name, v->doc);
}

void command_group_help(const char *group, int width, Text *out)
{
    const Page p = page_of(width, out);
    text_printf(out, "Usage: modalities %s%sCOMMAND [OPTIONS]\n\n  ", group ? group : "",
                group ? " " : "");
    wrap(&p,
         group ? command_group_doc(group)
               : "Tokenizes corpora, trains language models from one YAML file, evaluates, resumes "
                 "and generates.",
         2, 2);
    text_puts(out, "\nCommands:\n");
    const char *last_group = NULL;
    for (int i = 0; commands[i]; i++) {
        const Command *c = commands[i];
        if (group ? c->group && !strcmp(c->group, group) : !c->group) {
            put_pair(&p, c->name, c->doc);
        } else if (!group && (!last_group || strcmp(last_group, c->group))) {
            last_group = c->group;
            put_pair(&p, c->group, command_group_doc(c->group));
        }
    }
    if (!group) {
        put_pair(&p, "--version", "Prints the version.");
        text_puts(out, "\nEnvironment:\n");
        environment_help(width, out);
    }
    text_printf(out, "\n`modalities %s%sCOMMAND --help` explains a command.\n", group ? group : "",
                group ? " " : "");
}
