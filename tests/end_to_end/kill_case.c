/* kill_case.c - kills a command at events of the file system and checks how it goes on. */
#include "end_to_end/kill_case.h"
#include "base/file.h"
#include "end_to_end/kill_points.h"
#include "test.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- outputs ---- */

void kill_remove_outputs(Arena *a, const KillCase *c)
{
    for (int i = 0; i < MOST_OUTPUTS && c->output[i]; i++)
        assert_no_error(remove_tree(kill_path(a, c->output[i])));
    assert_int_equal(system(arena_printf(a, "cd %s && rm -rf out* report* chats_*", test_folder())),
                     0);
}

KillOutputs kill_read_outputs(Arena *a, const KillCase *c)
{
    KillOutputs all = { 0 };
    for (int i = 0; i < MOST_OUTPUTS && c->output[i]; i++)
        assert_no_error(file_read(a, kill_path(a, c->output[i]), &all.file[i]));
    return all;
}

int64_t kill_count_files(Arena *a, const char *pattern)
{
    PathList files = { 0 };
    int64_t n = 0;
    assert_no_error(files_below(a, test_folder(), "", &files));
    for (int64_t i = 0; i < files.n; i++) n += text_matches(pattern, path_name(files.item[i]));
    return n;
}

int kill_count_text(const char *text, const char *part)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, part)); p += strlen(part)) n++;
    return n;
}

/* Whole lines "part ..." of all records. */
int kill_count_parts(Arena *a)
{
    PathList files = { 0 };
    int n = 0;
    assert_no_error(files_below(a, test_folder(), ".parts", &files));
    for (int64_t i = 0; i < files.n; i++) {
        Str text;
        assert_no_error(file_read(a, files.item[i], &text));
        for (const char *p = text.ptr, *end; (end = strchr(p, '\n')); p = end + 1)
            n += !strncmp(p, "part ", 5);
    }
    return n;
}

/* ---- killing ---- */

const char *kill_log_events(Arena *a, const KillCase *c)
{
    const char *said;
    Str events;
    assert_no_error(remove_tree(kill_path(a, "events")));
    int status = kill_run(a, KILL_SMALL_PARTS, "CRASH_LOG=events", c->args, &said);
    if (status) fail_msg("%s: %s", c->name, said);
    assert_no_error(file_read(a, kill_path(a, "events"), &events));
    return events.ptr;
}

/* Lines "write PATH" of files in the making that hold data. */
int kill_count_writes(const char *events)
{
    int n = 0;
    for (const char *p = events, *end; (end = strchr(p, '\n')); p = end + 1)
        n += !strncmp(p, "write ", 6) && end - p > 8 && !strncmp(end - 8, ".partial", 8);
    return n;
}

/* Goes on after a kill: with the bytes of an uninterrupted run, without the finished parts. */
static void check_recovery(Arena *a, const KillCase *c, const char *where, const KillOutputs *whole,
                           int n_writes)
{
    const char *said;
    int n_parts = kill_count_parts(a);
    if (!strstr(c->args, "override"))
        for (int i = 0; i < MOST_OUTPUTS && c->output[i]; i++)
            if (file_exists(kill_path(a, c->output[i])) && !strstr(c->args, "instruction")) return;
    assert_no_error(remove_tree(kill_path(a, "events")));
    int status = kill_run(a, KILL_SMALL_PARTS, "CRASH_LOG=events", c->args, &said);
    if (status) fail_msg("%s, %s: status %d: %s", c->name, where, status, said);
    KillOutputs got = kill_read_outputs(a, c);
    for (int i = 0; i < MOST_OUTPUTS && c->output[i]; i++) {
        if (got.file[i].len != whole->file[i].len ||
            memcmp(got.file[i].ptr, whole->file[i].ptr, got.file[i].len) != 0)
            fail_msg("%s, %s: %s differs", c->name, where, c->output[i]);
    }
    if (kill_count_files(a, "*.partial*"))
        fail_msg("%s, %s: something is left, %s", c->name, where, said);
    if (!n_parts) return;
    Str events;
    assert_no_error(file_read(a, kill_path(a, "events"), &events));
    if (strstr(said, "not used and removed: its output is in place already")) return;
    const char *says = arena_printf(a, "going on after %d finished part", n_parts);
    if (!strstr(said, says)) fail_msg("%s, %s: %s\nbut said: %s", c->name, where, says, said);
    if (kill_count_writes(events.ptr) > n_writes - n_parts + 4)
        fail_msg("%s, %s: %d writes after %d parts, %d in all", c->name, where,
                 kill_count_writes(events.ptr), n_parts, n_writes);
}

void kill_case_at(const KillCase *c, const char *kind, int number, const KillOutputs *whole,
                  int n_writes)
{
    Arena *a = arena_new(); /* its own: outputs are large */
    const char *said, *event = arena_printf(a, "%s:%d", kind, number);
    kill_remove_outputs(a, c);
    int status =
        kill_run(a, KILL_SMALL_PARTS, arena_printf(a, "CRASH_AT=%s", event), c->args, &said);
    if (status != 128 + SIGKILL) fail_msg("%s, %s: status %d: %s", c->name, event, status, said);
    check_recovery(a, c, event, whole, n_writes);
    arena_free(a);
}

static void kill_repeatedly(const KillCase *c, uint64_t seed)
{
    static const char *const kinds[] = { "write", "fsync", "rename", "remove" };
    Arena *a = arena_new();
    kill_remove_outputs(a, c);
    const char *events = arena_printf(a, "\n%s", kill_log_events(a, c));
    KillOutputs whole = kill_read_outputs(a, c);
    int n_writes = kill_count_writes(events);
    assert_int_equal(kill_count_files(a, "*.partial*"), 0);
    assert_true(kill_count_text(events, "fsync ") >= 2 * c->n_parts);
    for (int k = 0; k < 4; k++) {
        int n = kill_count_text(events, arena_printf(a, "\n%s ", kinds[k])),
            n_points = kill_points(n);
        for (int i = 0; i < n_points; i++)
            kill_case_at(c, kinds[k], kill_point(seed, i, n), &whole, n_writes);
        kill_progress(c->name, kinds[k], n_points, n);
    }
    arena_free(a);
}

void kill_cases(const KillCase *cases, int n)
{
    Arena *a = arena_new();
    uint64_t seed = kill_seed();
    kill_make_inputs(a);
    for (int i = 0; i < n; i++) kill_repeatedly(&cases[i], seed);
    arena_free(a);
}
