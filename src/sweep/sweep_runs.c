/* sweep_runs.c - finds a sweep's configurations and judges whether they were run. */
#include "sweep/sweep_runs.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "monitor/run_record.h"
#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* "0123abcd_2026-01-31__12-00-00": the length of what is in front of the time, or 0. */
static size_t hash_length(const char *name)
{
    static const char form[] = "0000-00-00__00-00-00";
    size_t n = 0;
    while (isalnum((unsigned char)name[n])) n++;
    if (!n || name[n] != '_' || strlen(name + n + 1) != sizeof form - 1) return 0;
    for (size_t i = 0; form[i]; i++) {
        char c = name[n + 1 + i];
        if (form[i] == '0' ? !isdigit((unsigned char)c) : c != form[i]) return 0;
    }
    return n;
}

static bool is_number(const char *s)
{
    for (const char *c = s; *c; c++)
        if (!isdigit((unsigned char)*c)) return false;
    return *s != 0;
}

bool sweep_run_is_in(Arena *a, const char *config)
{
    return !strcmp(path_name(config), RUN_YAML) ||
           hash_length(path_name(path_folder(a, path_absolute(a, config)))) > 0;
}

static Error *add(Arena *a, const char *config, int64_t world_size, SweepRuns *to)
{
    const char *folder = path_folder(a, config), *name = path_name(folder),
               *size = path_name(path_folder(a, folder));
    if (!strcmp(path_name(config), RUN_YAML)) return NULL; /* a run's own copy */
    bool is_meant = world_size ? is_number(size) && atoll(size) == world_size : true;
    if (!is_meant) return NULL;
    size_t n = hash_length(name);
    if (!n)
        return error_new("%s: the folder's name %s has not the form HASH_YYYY-MM-DD__HH-MM-SS",
                         config, name);
    to->item = arena_grow(a, to->item, to->n, &to->cap, sizeof *to->item);
    to->item[to->n++] = (SweepRun){ .config = config,
                                    .folder = folder,
                                    .hash = arena_string_n(a, name, n),
                                    .world_size = is_number(size) ? atoll(size) : 1 };
    return NULL;
}

Error *sweep_runs_find(Arena *a, const char *root, int64_t world_size, SweepRuns *out)
{
    PathList files = { 0 };
    const char *at = path_absolute(a, root);
    *out = (SweepRuns){ 0 };
    TRY(files_below(a, at, ".yaml", &files));
    for (int64_t i = 0; i < files.n; i++) {
        const char *below = files.item[i] + strlen(at);
        int depth = 0;
        for (const char *c = below; *c; c++) depth += *c == '/';
        if (depth >= 3) TRY(add(a, files.item[i], world_size, out));
    }
    return NULL;
}

SweepRuns sweep_runs_newest(Arena *a, const SweepRuns *all)
{
    SweepRuns out = { .item = NEW_N(a, SweepRun, all->n), .cap = all->n };
    Map *place = map_new(a); /* of its combination in `out` */
    for (int64_t i = 0; i < all->n; i++) {
        const SweepRun *r = &all->item[i];
        const char *key = arena_printf(a, "%s/%s", path_folder(a, r->folder), r->hash);
        SweepRun *known = map_get(place, str_of(key));
        if (!known) {
            map_set(place, str_of(key), &out.item[out.n]);
            out.item[out.n++] = *r;
        } else if (strcmp(path_name(r->folder), path_name(known->folder)) > 0) {
            *known = *r;
        }
    }
    return out;
}

static int64_t count_lines(const char *path)
{
    FileMap m;
    int64_t n = 0;
    Error *e = file_map(path, &m);
    if (e) {
        error_free(e);
        return -1;
    }
    for (size_t i = 0; i < m.len; i++) n += m.ptr[i] == '\n';
    if (m.len && m.ptr[m.len - 1] != '\n') n++;
    file_unmap(&m);
    return n;
}

static bool is_error_log(const char *path)
{
    return !strncmp(path_name(path), "error_logs_", 11);
}

static const char *error_type(Arena *a, const char *path)
{
    json_t *log = json_load_file(path, 0, NULL);
    const char *type = json_string_value(json_object_get(json_object_get(log, "error"), "type"));
    type = type ? arena_string(a, type) : "ErrorFileParsingError";
    if (!log) log_warning("%s cannot be read as JSON", path);
    json_decref(log);
    return type;
}

bool sweep_run_is_done(Arena *a, const SweepRun *r, int64_t expected_lines, const StringList *skip)
{
    PathList logs = { 0 };
    if (count_lines(path_join(a, r->folder, "evaluation_results.jsonl")) == expected_lines)
        return true;
    if (!skip->n) return false;
    error_free(files_below(a, r->folder, ".log", &logs));
    for (int64_t i = 0; i < logs.n; i++)
        for (int64_t k = 0; is_error_log(logs.item[i]) && k < skip->n; k++)
            if (!strcmp(error_type(a, logs.item[i]), skip->item[k])) return true;
    return false;
}
