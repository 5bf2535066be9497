/* experiment.c - the folder of a run. */
#include "monitor/experiment.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/sha256.h"
#include "monitor/run_record.h"
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

char *experiment_id_new(Arena *a, const char *config_file_path)
{
    char now[32], hash[65];
    clock_format("%Y-%m-%d__%H-%M-%S", now, sizeof now);
    sha256_hex(config_file_path, strlen(config_file_path), hash);
    return arena_printf(a, "%s_%.16s", now, hash);
}

Error *experiment_claim(Arena *a, const char *root, const char *id, bool *is_ours)
{
    enum { MILLISECOND = 1000 };
    const char *folder = path_join(a, root, id);
    TRY(make_directories(root));
    *is_ours = mkdir(folder, 0777) == 0;
    if (*is_ours) return NULL;
    if (errno != EEXIST) return error_new("cannot create folder %s: %s", folder, strerror(errno));
    for (time_t second = time(NULL); time(NULL) == second;) usleep(10 * MILLISECOND);
    return NULL;
}

const char *experiment_folder(Arena *a, const char *root, const char *id)
{
    return *id ? path_join(a, root, id) : root;
}

Error *experiment_id_check(const char *id)
{
    enum { MAX_BYTES = 1024 };
    if (strlen(id) > MAX_BYTES)
        return error_usage("experiment_id has %zu bytes; at most %d are allowed", strlen(id),
                           MAX_BYTES);
    for (const char *c = id; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return error_usage("experiment_id has the control character %d, which no name of a "
                               "folder should have",
                               *c);
    if (strchr(id, '/') || !strcmp(id, ".") || !strcmp(id, ".."))
        return error_usage("experiment_id \"%s\" is no name of a folder", id);
    return NULL;
}

static bool has_name_with(const char *folder, const char *begin, const char *end)
{
    DIR *d = opendir(folder);
    bool is_there = false;
    for (const struct dirent *entry; d && !is_there && (entry = readdir(d));) {
        size_t n = strlen(entry->d_name), m = strlen(end);
        is_there = !strncmp(entry->d_name, begin, strlen(begin)) && n >= m &&
                   !strcmp(entry->d_name + n - m, end);
    }
    if (d) closedir(d);
    return is_there;
}

Error *experiment_check_unused(Arena *a, const char *folder)
{
    RunRecord record;
    bool is_used = has_name_with(folder, "evaluation_results", ".jsonl") ||
                   has_name_with(path_join(a, folder, "checkpoints"), "eid_", "");
    if (!is_used && file_exists(path_join(a, folder, RUN_RECORD))) {
        TRY(run_record_read(a, folder, &record));
        is_used = record.steps > 0;
    }
    if (!is_used) return NULL;
    return error_new("%s holds the results of another run; to go on with it: %s; for a run of its "
                     "own choose another --experiment_id",
                     folder, resume_command(a, folder));
}

static Error *copy_config(Arena *a, const char *from, const char *to)
{
    if (!strcmp(path_absolute(a, from), path_absolute(a, to))) return NULL;
    Str config;
    TRY(file_read(a, from, &config));
    return file_write_unsynced(to, config.ptr, config.len);
}

static Error *write_resolved(const Experiment *x, const char *path)
{
    NewFile f;
    TRY(file_create(path, &f));
    f.skip_sync = true;
    Error *e = x->write_resolved(f.stream, x->context);
    if (!e) return file_commit(&f);
    file_abandon(&f);
    return error_wrap(e, "%s", path);
}

Error *experiment_create(Arena *a, const Experiment *x, const char **folder)
{
    TRY(experiment_id_check(x->id));
    const char *at = experiment_folder(a, x->root, x->id);
    TRY(make_directories(at));
    const char *config_name = path_name(x->config_file_path);
    char *copy = path_join(a, at, config_name);
    TRY(copy_config(a, x->config_file_path, copy));
    TRY(write_resolved(x, path_with_suffix(a, copy, ".yaml.resolved")));
    *folder = at;
    return NULL;
}
