/* benchmark_list_remaining_runs.c - `modalities benchmark list_remaining_runs`. */
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "command.h"
#include "sweep/sweep_runs.h"
#include <string.h>

typedef struct Options {
    const char *exp_root, *file_list_path, *skip_exception_types;
    const int64_t *world_size;
    int64_t expected_steps;
    bool create_new_folders_if_partially_done;
} Options;

/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, exp_root, NULL, "the sweep's folder", .flags = FIELD_EXISTS_ANY),
    FIELD_INT(Options, world_size, "null", 1, INFINITY, "only configurations for so many ranks"),
    FIELD_PATH(Options, file_list_path, NULL, "the list: a path per line", .role = PATH_WRITTEN),
    FIELD_INT(Options, expected_steps, NULL, 0, INFINITY, "lines that evaluation_results.jsonl has when a run is done"),
    FIELD_BOOL(Options, create_new_folders_if_partially_done, "false", "when some runs were begun, those that remain get folders with a new time"),
    FIELD_STRING(Options, skip_exception_types, "\"\"", "runs that failed so count as done: OutOfMemoryError,ValueError"),
    { 0 },
};
/* clang-format on */

/* The first line is as this command writes it. */
static bool is_list(Str text)
{
    static const char suffix[] = ".yaml";
    const size_t n = sizeof suffix - 1;
    const char *end = memchr(text.ptr, '\n', text.len);
    return end && (size_t)(end - text.ptr) >= n && !memcmp(end - n, suffix, n);
}

static StringList split(Arena *a, const char *text)
{
    StringList out = { NEW_N(a, const char *, strlen(text) + 1), 0 };
    char *rest = arena_string(a, text);
    for (const char *word; *text && (word = strsep(&rest, ","));) out.item[out.n++] = word;
    return out;
}

static Error *renew(Arena *a, SweepRun *r)
{
    char now[32];
    Str text;
    clock_format("%Y-%m-%d__%H-%M-%S", now, sizeof now);
    const char *folder = arena_printf(a, "%s/%s_%s", path_folder(a, r->folder), r->hash, now);
    const char *config = path_join(a, folder, path_name(r->config));
    TRY(file_read(a, r->config, &text));
    TRY(make_directories(folder));
    TRY(file_write_unsynced(config, text.ptr, text.len));
    r->config = config;
    return NULL;
}

static Error *run(Arena *a, const void *from)
{
    const Options *o = from;
    SweepRuns all;
    TRY(existing_report(o->file_list_path, is_list, "a list of configurations"));
    TRY(sweep_runs_find(a, o->exp_root, o->world_size ? *o->world_size : 0, &all));
    if (!all.n) {
        log_warning("there is no configuration WORLD_SIZE/HASH_TIME/*.yaml below %s", o->exp_root);
        return NULL;
    }
    const StringList skip = split(a, o->skip_exception_types);
    SweepRuns newest = sweep_runs_newest(a, &all), remaining = { NEW_N(a, SweepRun, all.n), 0, 0 };
    for (int64_t i = 0; i < newest.n; i++)
        if (!sweep_run_is_done(a, &newest.item[i], o->expected_steps, &skip))
            remaining.item[remaining.n++] = newest.item[i];
    bool renews = remaining.n < all.n && o->create_new_folders_if_partially_done;
    Text list = { 0 };
    Error *e = NULL;
    for (int64_t i = 0; !e && i < remaining.n; i++) {
        if (renews) e = renew(a, &remaining.item[i]);
        text_printf(&list, "%s\n", remaining.item[i].config);
    }
    if (!e) e = file_write(o->file_list_path, list.ptr ? list.ptr : "", list.len);
    text_free(&list);
    if (!e)
        log_info("%lld of %lld configurations remain: %s", (long long)remaining.n,
                 (long long)newest.n, o->file_list_path);
    return e;
}

const Command command_benchmark_list_remaining_runs = {
    .group = "benchmark",
    .name = "list_remaining_runs",
    .doc = "Lists the configurations of a sweep that are not done.",
    .details = "Of several tries of one combination the newest counts. A run is done when "
               "evaluation_results.jsonl beside its configuration has exactly the expected number "
               "of lines, or when an error log there names one of the exceptions to skip.",
    .examples = "modalities benchmark list_remaining_runs --exp_root sweeps/TIME_HASH "
                "--file_list_path remaining.txt --expected_steps 20",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
