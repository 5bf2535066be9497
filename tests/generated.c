/* generated.c - compares generated text with the committed file, or writes it. */
#include "generated.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

static int line_length(const char *s)
{
    return (int)strcspn(s, "\n");
}

void assert_generated(const char *path, const char *text)
{
    const char *generate = getenv("MODALITIES_GENERATE");
    if (generate && *generate) {
        assert_no_error(file_write(path, text, strlen(text)));
        return;
    }
    Arena *a = arena_new();
    Str file;
    assert_no_error(file_read(a, path, &file));
    const char *found = file.ptr, *wanted = text;
    int line = 1;
    for (; *found && *found == *wanted; found++, wanted++) line += *found == '\n';
    if (*found != *wanted) {
        while (found > file.ptr && found[-1] != '\n') found--, wanted--;
        fail_msg("%s:%d is out of date (`make docs` or `make graphs` writes it anew)\n  file:      "
                 "%.*s\n  "
                 "generated: %.*s",
                 path, line, line_length(found), found, line_length(wanted), wanted);
    }
    arena_free(a);
}
