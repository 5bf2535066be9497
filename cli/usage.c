/* usage.c - the help texts of the program, its groups and its commands. */
#include "base/environment.h"
#include "command.h"
#include "config/field_read.h"
#include <ctype.h>
#include <string.h>

enum { WIDTH = 96, OPTION_COLUMN = 36 };

/* Breaks a text at blanks; every line after the first begins at `indent`. `column` is where it
 * starts. */
static void wrap(Text *out, const char *text, int indent, int column)
{
    while (*text) {
        size_t n = strcspn(text, " \n");
        if (column > indent && column + (int)n > WIDTH) {
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

static void put_row(const Field *f, Text *out)
{
    Text left = { 0 }, right = { 0 };
    if (is_argument(f)) {
        put_upper(&left, f->name);
        if (f->type == FIELD_LIST) text_puts(&left, "...");
    } else {
        text_printf(&left, "--%s ", f->name);
        if (f->type != FIELD_BOOL) put_placeholder(f, &left);
    }
    text_puts(&right, f->doc);
    bool has_default = f->fallback && strcmp(f->fallback, "null") && strcmp(f->fallback, "[]") &&
                       f->type != FIELD_BOOL;
    if (has_default) text_printf(&right, " [default: %s]", f->fallback);
    if (f->type == FIELD_LIST && !is_argument(f)) text_puts(&right, " [may be repeated]");
    if (!f->fallback && !is_argument(f)) text_puts(&right, " [required]");
    text_printf(out, "  %-*s", OPTION_COLUMN - 2, left.ptr);
    if (left.len > OPTION_COLUMN - 3) text_printf(out, "\n%*s", OPTION_COLUMN, "");
    wrap(out, right.ptr, OPTION_COLUMN, OPTION_COLUMN);
    text_free(&left);
    text_free(&right);
}

static void put_rows(const Command *c, bool arguments, Text *out)
{
    for (const Field *f = c->options; f && f->type != FIELD_END; f++)
        if (is_argument(f) == arguments) put_row(f, out);
}

static bool has_arguments(const Command *c)
{
    for (const Field *f = c->options; f && f->type != FIELD_END; f++)
        if (is_argument(f)) return true;
    return false;
}

void command_help(const Command *c, Text *out)
{
    text_printf(out, "Usage: modalities %s%s%s [OPTIONS]", c->group ? c->group : "",
                c->group ? " " : "", c->name);
    for (const Field *f = c->options; f && f->type != FIELD_END; f++) {
        if (!is_argument(f)) continue;
        text_puts(out, f->fallback ? " [" : " ");
        put_upper(out, f->name);
        text_puts(out, f->type == FIELD_LIST ? "..." : "");
        text_puts(out, f->fallback ? "]" : "");
    }
    text_puts(out, "\n\n  ");
    wrap(out, c->doc, 2, 2);
    if (c->details) {
        text_puts(out, "\n  ");
        wrap(out, c->details, 2, 2);
    }
    if (has_arguments(c)) {
        text_puts(out, "\nArguments:\n");
        put_rows(c, true, out);
    }
    text_puts(out, "\nOptions:\n");
    put_rows(c, false, out);
    text_printf(out, "  %-*sShow this text and exit.\n", OPTION_COLUMN - 2, "-h, --help");
    if (!c->examples) return;
    text_puts(out, "\nExamples:\n");
    for (const char *line = c->examples; *line;) {
        size_t n = strcspn(line, "\n");
        text_printf(out, "  %.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
}

static void put_command(const char *name, const char *doc, Text *out)
{
    text_printf(out, "  %-*s", OPTION_COLUMN - 2, name);
    wrap(out, doc, OPTION_COLUMN, OPTION_COLUMN);
}

void environment_help(Text *out)
{
    for (const EnvironmentVariable *v = environment_variables; v->name; v++)
        put_command(v->name, v->doc, out);
}

void command_group_help(const char *group, Text *out)
{
    text_printf(out, "Usage: modalities %s%sCOMMAND [OPTIONS]\n\n  ", group ? group : "",
                group ? " " : "");
    wrap(out,
         group ? command_group_doc(group)
               : "Tokenizes corpora, trains language models from one YAML file, evaluates, resumes "
                 "and generates.",
         2, 2);
    text_puts(out, "\nCommands:\n");
    const char *last_group = NULL;
    for (int i = 0; commands[i]; i++) {
        const Command *c = commands[i];
        if (group ? c->group && !strcmp(c->group, group) : !c->group) {
            put_command(c->name, c->doc, out);
        } else if (!group && (!last_group || strcmp(last_group, c->group))) {
            last_group = c->group;
            put_command(c->group, command_group_doc(c->group), out);
        }
    }
    if (!group) {
        text_printf(out, "  %-*sPrints the version.\n", OPTION_COLUMN - 2, "--version");
        text_puts(out, "\nEnvironment:\n");
        environment_help(out);
    }
    text_printf(out, "\n`modalities %s%sCOMMAND --help` explains a command.\n", group ? group : "",
                group ? " " : "");
}
