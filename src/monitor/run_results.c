/* run_results.c - the results of a run and its configuration, from the folder of its experiment. */
#include "monitor/run_results.h"
#include "base/file.h"
#include <dirent.h>
#include <string.h>

static const char *const names[] = { "evaluation_results.jsonl", "history.jsonl", NULL };

const char *results_file(Arena *a, const char *path)
{
    if (!is_directory(path)) return path;
    for (int i = 0; names[i]; i++) {
        const char *file = path_join(a, path, names[i]);
        if (file_exists(file)) return file;
    }
    return NULL;
}

/* A configuration that cannot be read is as good as none: results stand for themselves. */
static const Yaml *read_config(Arena *a, const char *folder)
{
    static const char suffix[] = ".resolved";
    const char *found = NULL;
    DIR *d = opendir(folder);
    if (!d) return NULL;
    for (const struct dirent *entry; (entry = readdir(d));) {
        size_t len = strlen(entry->d_name), n = strlen(suffix);
        if (len > n && !strcmp(entry->d_name + len - n, suffix))
            found = path_join(a, folder, entry->d_name);
    }
    closedir(d);
    Yaml *config = NULL;
    if (found) error_free(yaml_read(a, found, &config));
    return config;
}

Error *run_results_read(Arena *a, const char *path, RunResults *out)
{
    *out = (RunResults){ .file = results_file(a, path) };
    if (!out->file)
        return error_new(
            "%s holds neither %s (results_subscriber.to_disc) nor %s (wandb); give the "
            "path of a JSONL file of results",
            path, names[0], names[1]);
    TRY(history_read(a, out->file, &out->history));
    if (!out->history.n_rows) return error_new("%s holds no results", out->file);
    const char *folder = path_folder(a, out->file);
    bool is_named_file = !strcmp(path, out->file) && strcmp(path_name(path), names[0]) != 0;
    out->name = is_named_file ? path_name(path) : path_name(path_absolute(a, folder));
    out->config = read_config(a, folder);
    const Yaml *length =
        out->config ? yaml_find(out->config, "settings.step_profile.sequence_length") : NULL;
    if (length && length->type == YAML_INT) out->sequence_length = length->integer;
    return NULL;
}
