/* algorithm_record.c - a line per product: its key, a tab, and the bytes of its algorithm in hex.
 * Lines are added whole, so that a run that is killed leaves a file that can be read. */
#include "device/cuda/algorithm_record.h"
#include "base/map.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 256 };

struct AlgorithmRecord {
    Arena *arena;
    Map *hex; /* by key */
    int file;
};

static void take_line(AlgorithmRecord *r, char *line)
{
    char *tab = strchr(line, '\t'), *end = strchr(line, '\n');
    if (!tab || !end) return;
    *tab = *end = 0;
    const Str key = str_of(arena_string(r->arena, line));
    if (!map_get(r->hex, key)) map_set(r->hex, key, (void *)arena_string(r->arena, tab + 1));
}

Error *algorithm_record_open(Arena *a, const char *path, AlgorithmRecord **out)
{
    char line[ALGORITHM_KEY + 2 * MOST_BYTES + 2];
    AlgorithmRecord *r = NEW(a, AlgorithmRecord);
    *r = (AlgorithmRecord){ .arena = a, .hex = map_new(a) };
    r->file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (r->file < 0) return error_new("%s: %s", path, strerror(errno));
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) take_line(r, line);
    if (f) fclose(f);
    *out = r;
    return NULL;
}

void algorithm_record_close(AlgorithmRecord *r)
{
    if (r) close(r->file);
}

bool algorithm_record_find(const AlgorithmRecord *r, const char *key, void *out, size_t bytes)
{
    const char *hex = map_get(r->hex, str_of(key));
    return hex && algorithm_bytes(hex, out, bytes);
}

bool algorithm_bytes(const char *hex, void *out, size_t bytes)
{
    if (strlen(hex) != 2 * bytes) return false;
    for (size_t i = 0; i < bytes; i++) {
        unsigned byte;
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1) return false;
        ((unsigned char *)out)[i] = (unsigned char)byte;
    }
    return true;
}

void algorithm_hex(const void *data, size_t bytes, char *out)
{
    for (size_t i = 0; i < bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", ((const unsigned char *)data)[i]);
}

void algorithm_record_add(AlgorithmRecord *r, const char *key, const void *data, size_t bytes)
{
    char line[ALGORITHM_KEY + 2 * MOST_BYTES + 2];
    CHECK(bytes <= MOST_BYTES);
    size_t n = (size_t)snprintf(line, ALGORITHM_KEY, "%s", key);
    line[n++] = '\t';
    algorithm_hex(data, bytes, line + n);
    n += 2 * bytes;
    line[n++] = '\n';
    if (write(r->file, line, n) != (ssize_t)n) return;
}
