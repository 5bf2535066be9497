/* memory.c - reads what the kernel says about free memory; memory for large tables. */
#include "base/memory.h"
#include "base/environment.h"
#include "base/error.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CACHE_LINE = 64, HUGE_PAGE = 2 << 20 };

/* The number at the start of a file; 0 when there is none, also for "max". */
static size_t number_in(const char *path)
{
    size_t n = 0;
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%zu", &n) != 1) n = 0;
    if (f) fclose(f);
    return n;
}

static size_t at_most(size_t bytes, int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) || limit.rlim_cur >= bytes ? bytes : limit.rlim_cur;
}

size_t memory_available(void)
{
    const char *set = environment_get("MODALITIES_MEMORY_LIMIT");
    if (set && *set) return (size_t)strtoull(set, NULL, 10);
    size_t available = 0;
    char line[256];
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %zu kB", &available) == 1) available *= 1024;
    if (f) fclose(f);
    size_t limit = number_in("/sys/fs/cgroup/memory.max");
    size_t used = number_in("/sys/fs/cgroup/memory.current");
    if (limit && limit > used && limit - used < available) available = limit - used;
    return at_most(at_most(available, RLIMIT_DATA), RLIMIT_AS);
}

void *memory_or_end(void *p, size_t bytes)
{
    char text[64];
    if (p) return p;
    int n = snprintf(text, sizeof text, "out of memory: %zu bytes cannot be had\n", bytes);
    ssize_t ignored = write(STDERR_FILENO, text, (size_t)n);
    (void)ignored;
    _exit(EXIT_FAILURE);
}

void *memory_untouched(size_t bytes)
{
    bool is_huge = bytes >= HUGE_PAGE / 4;
    size_t page = is_huge ? HUGE_PAGE : CACHE_LINE, room = (bytes + page - 1) / page * page;
    void *p = memory_or_end(aligned_alloc(page, room), room);
    if (is_huge) madvise(p, room, MADV_HUGEPAGE);
    return p;
}

void *memory_zeroed(size_t bytes)
{
    return memset(memory_untouched(bytes), 0, bytes);
}
