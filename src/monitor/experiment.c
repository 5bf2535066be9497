/* experiment.c - the folder of a run. */
#include "monitor/experiment.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sha256.h"
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

Error *experiment_id_check(const char *id)
{
    enum { MAX_BYTES = 1024 };
    if (!*id) return error_usage("experiment_id is empty");
    if (strlen(id) > MAX_BYTES)
        return error_usage("experiment_id has %zu bytes; at most %d are allowed", strlen(id),
                           MAX_BYTES);
    if (strchr(id, '/') || !strcmp(id, ".") || !strcmp(id, ".."))
        return error_usage("experiment_id \"%s\" is no name of a folder", id);
    return NULL;
}

/* A folder that holds anything but this configuration has probably been used by another run. */
static Error *warn_if_used(const char *folder, const char *config_name)
{
    DIR *d = opendir(folder);
    if (!d) return error_new("cannot read folder %s: %s", folder, strerror(errno));
    int n = 0, n_other = 0;
    for (const struct dirent *entry; (entry = readdir(d));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        n++;
        n_other += strcmp(entry->d_name, config_name) != 0;
    }
    closedir(d);
    if (n > 1 || n_other) log_warning("experiment folder %s already holds %d files", folder, n);
    return NULL;
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
    char *at = path_join(a, x->root, x->id);
    TRY(make_directories(at));
    const char *config_name = path_name(x->config_file_path);
    TRY(warn_if_used(at, config_name));
    char *copy = path_join(a, at, config_name);
    TRY(copy_config(a, x->config_file_path, copy));
    TRY(write_resolved(x, path_with_suffix(a, copy, ".yaml.resolved")));
    *folder = at;
    return NULL;
}
