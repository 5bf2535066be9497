/* run_record.c - run.json of an experiment or checkpoint, and the command to go on. */
#include "monitor/run_record.h"
#include "base/file.h"
#include "base/json.h"
#include "config/yaml.h"
#include <inttypes.h>
#include <string.h>

static const char *const states[] = { "running", "stopped", "done", "failed", "killed" };

const char *run_state_name(RunState s)
{
    return states[s];
}

static void put(Text *out, const char *key, const char *path)
{
    text_printf(out, ",\n  \"%s\": ", key);
    text_json_path(out, path ? path : "");
}

void run_record_put(const RunRecord *r, bool with_state, Text *out)
{
    text_puts(out, "{\n  \"experiment\": ");
    text_json_path(out, r->experiment);
    put(out, "start_folder", r->start_folder);
    put(out, "config_file_path", r->config_file_path);
    put(out, "initial_weights", r->initial_weights);
    put(out, "checkpoints", r->checkpoints);
    put(out, "checkpoint_id", r->checkpoint_id);
    text_printf(out, ",\n  \"ranks\": %" PRId64, r->ranks);
    if (with_state) {
        text_printf(
            out, ",\n  \"state\": \"%s\",\n  \"steps\": %" PRId64 ",\n  \"target_steps\": %" PRId64,
            states[r->state], r->steps, r->target_steps);
        put(out, "why", r->why);
    }
    text_puts(out, "\n}\n");
}

static Error *write_by(Error *(*write)(const char *path, const void *text, size_t n),
                       const char *folder, const RunRecord *r)
{
    Arena *a = arena_new();
    Text t = { 0 };
    run_record_put(r, true, &t);
    Error *e = write(path_join(a, folder, RUN_RECORD), t.ptr, t.len);
    text_free(&t);
    arena_free(a);
    return e;
}

Error *run_record_write(const char *folder, const RunRecord *r)
{
    return write_by(file_write, folder, r);
}

Error *run_record_update(const char *folder, const RunRecord *r)
{
    return write_by(file_write_unsynced, folder, r);
}

static RunState state_of(const Yaml *map)
{
    const char *name = yaml_text_at(map, "state");
    for (int i = 0; i < (int)(sizeof states / sizeof *states); i++)
        if (!strcmp(name, states[i])) return (RunState)i;
    return RUN_KILLED;
}

Error *run_record_read_as_written(Arena *a, const char *folder, RunRecord *out)
{
    const char *path = path_join(a, folder, RUN_RECORD);
    Yaml *y;
    TRY(yaml_read_json(a, path, &y));
    *out = (RunRecord){ .state = state_of(y),
                        .why = yaml_text_at(y, "why"),
                        .steps = yaml_int_at(y, "steps", 0),
                        .target_steps = yaml_int_at(y, "target_steps", 0),
                        .ranks = yaml_int_at(y, "ranks", 0),
                        .experiment = yaml_text_at(y, "experiment"),
                        .checkpoints = yaml_text_at(y, "checkpoints"),
                        .start_folder = yaml_text_at(y, "start_folder"),
                        .checkpoint_id = yaml_text_at(y, "checkpoint_id"),
                        .config_file_path = yaml_text_at(y, "config_file_path"),
                        .initial_weights = yaml_text_at(y, "initial_weights") };
    if (!*out->experiment || !*out->start_folder)
        return error_new("%s: no record of a run: experiment or start_folder is missing", path);
    return NULL;
}

Error *run_record_read(Arena *a, const char *folder, RunRecord *out)
{
    TRY(run_record_read_as_written(a, folder, out));
    if (run_lock_is_held(a, folder))
        out->state = RUN_RUNNING;
    else if (out->state == RUN_RUNNING)
        out->state = RUN_KILLED;
    return NULL;
}

char *resume_command(Arena *a, const char *folder)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=,:+@%";
    if (*folder && !folder[strspn(folder, plain)])
        return arena_printf(a, "modalities resume %s", folder);
    Text t = { 0 };
    text_puts(&t, "modalities resume '");
    for (; *folder; folder++)
        if (*folder == '\'')
            text_puts(&t, "'\\''");
        else
            text_putc(&t, *folder);
    text_putc(&t, '\'');
    char *command = arena_string(a, t.ptr);
    text_free(&t);
    return command;
}
