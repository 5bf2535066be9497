/* experiments_find.c - looks for the folders of experiments. */
#include "monitor/experiments_find.h"
#include "base/file.h"
#include "monitor/run_record.h"
#include "monitor/run_results.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 4 };

/* A checkpoint has a record, too, but no lock: nobody trains there. */
static bool is_experiment(Arena *a, const char *path, bool *has_record)
{
    *has_record =
        file_exists(path_join(a, path, RUN_RECORD)) && file_exists(path_join(a, path, RUN_LOCK));
    return *has_record || results_file(a, path);
}

static bool is_real_folder(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static void add(Arena *a, FoundExperiments *to, const char *path, bool has_record)
{
    to->item = arena_grow(a, to->item, to->n, &to->cap, sizeof *to->item);
    to->item[to->n++] = (FoundExperiment){ path, has_record };
}

static void search(Arena *a, const char *folder, int depth, FoundExperiments *to)
{
    DIR *d = opendir(folder);
    for (const struct dirent *entry; d && (entry = readdir(d));) {
        bool has_record;
        if (entry->d_name[0] == '.') continue;
        const char *path = strcmp(folder, ".") ? path_join(a, folder, entry->d_name)
                                               : arena_string(a, entry->d_name);
        if (!is_real_folder(path)) continue;
        if (is_experiment(a, path, &has_record))
            add(a, to, path, has_record);
        else if (depth < MAX_DEPTH)
            search(a, path, depth + 1, to);
    }
    if (d) closedir(d);
}

static int by_path(const void *x, const void *y)
{
    return strcmp(((const FoundExperiment *)x)->path, ((const FoundExperiment *)y)->path);
}

void experiments_find(Arena *a, const char *folder, FoundExperiments *out)
{
    bool has_record;
    *out = (FoundExperiments){ 0 };
    if (is_experiment(a, folder, &has_record) && has_record)
        add(a, out, folder, true);
    else
        search(a, folder, 1, out);
    if (out->n) qsort(out->item, (size_t)out->n, sizeof *out->item, by_path);
}
