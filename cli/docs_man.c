/* docs_man.c - `modalities docs man`: all help texts as one manual page. */
#include "command.h"
#include <stdio.h>
#include <string.h>

enum { WIDTH = 78 };

/* Text as it stands: backslashes, and dots and quotes at the beginning of a line, mean something to
 * roff. */
static void put_plain(const char *s, Text *out)
{
    bool at_start = true;
    for (; *s; s++) {
        if (at_start && (*s == '.' || *s == '\'')) text_puts(out, "\\&");
        if (*s == '\\')
            text_puts(out, "\\e");
        else if (*s == '-')
            text_puts(out, "\\-");
        else
            text_putc(out, *s);
        at_start = *s == '\n';
    }
}

static void put_block(const Text *t, Text *out)
{
    text_puts(out, ".nf\n");
    put_plain(t->ptr ? t->ptr : "", out);
    text_puts(out, ".fi\n");
}

static Error *run(Arena *a, const void *options)
{
    (void)a, (void)options;
    Text out = { 0 }, part = { 0 };
    text_puts(&out, ".TH MODALITIES 1\n.SH NAME\nmodalities \\- tokenizes corpora, trains language "
                    "models from one YAML file, evaluates, resumes and generates\n"
                    ".SH SYNOPSIS\n.B modalities\n.I command\n[options]\n.SH COMMANDS\n");
    for (int i = 0; commands[i]; i++) {
        const Command *c = commands[i];
        text_printf(&out, ".SS \"%s%s%s\"\n", c->group ? c->group : "", c->group ? " " : "",
                    c->name);
        text_clear(&part);
        command_help(c, WIDTH, &part);
        put_block(&part, &out);
    }
    text_puts(&out, ".SH ENVIRONMENT\n");
    text_clear(&part);
    environment_help(WIDTH, &part);
    put_block(&part, &out);
    text_puts(&out, ".SH \"EXIT STATUS\"\n0: done; 1: failed; 2: the command line or configuration "
                    "is wrong; 75: stopped before the end, to be gone on with.\n");
    fwrite(out.ptr, 1, out.len, stdout);
    text_free(&out);
    text_free(&part);
    return NULL;
}

const Command command_docs_man = {
    .group = "docs",
    .name = "man",
    .doc = "Prints the help of every command as a manual page.",
    .examples = "modalities docs man | man -l -",
    .run = run,
};
