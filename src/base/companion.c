/* companion.c - finds libraries that lie beside the program. */
#include "base/companion.h"
#include <unistd.h>

const char *program_folder(Arena *a)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    while (n > 0 && path[n - 1] != '/') n--;
    return arena_string_n(a, path, n > 0 ? (size_t)n : 0);
}

const char *companion_path(Arena *a, const char *set, const char *file)
{
    static const char *const below[] = { "", "../lib/modalities/" };
    const char *folder = program_folder(a);
    if (set && *set) return set;
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        const char *path = arena_printf(a, "%s%s%s", folder, below[i], file);
        if (access(path, R_OK) == 0) return path;
    }
    return NULL;
}
