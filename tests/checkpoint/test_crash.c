/* test_crash.c - a save that is killed or fails at any single step leaves the old state or the new
 * one.
 *
 * A small program saves under tests/preload/crash_shim.c, once for every write, fsync, rename,
 * removal and creation that it does. */
#include "base/log.h"
#include "checkpoint/checkpoint_name.h"
#include "checkpoint/saving.h"
#include "sample_state.h"
#include "test.h"
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A folder of checkpoints, and what to run in it. */
typedef struct Bench {
    Arena *arena;
    const char *root;   /* checkpoint_path */
    const char *output; /* stderr of the last run */
    const char *log;    /* events of the last run */
} Bench;

static char root[64];

static void remove_root(void)
{
    error_free(remove_tree(root));
}

/* In memory where that is possible: hundreds of saves would wait for the disk otherwise. */
static Bench bench_new(void)
{
    Arena *a = arena_new();
    const char *folder = test_folder();
    bool has_memory = access("/dev/shm", W_OK) == 0;
    snprintf(root, sizeof root, "%s/modalities-runs-%d", has_memory ? "/dev/shm" : "/tmp",
             (int)getpid());
    atexit(remove_root);
    return (Bench){ a, root, path_join(a, folder, "output"), path_join(a, folder, "log") };
}

/* The faults of one run: variables of crash_shim, ends with NULL. */
typedef const char *const Faults[8];

/* Runs save_checkpoints over these steps, keeping one; returns its wait status. */
static int run(const Bench *b, Faults faults, const char *const *steps)
{
    unlink(b->log);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int to = open(b->output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        dup2(to, 1);
        dup2(to, 2);
        setenv("CRASH_PATH", b->root, 1);
        setenv("CRASH_LOG", b->log, 1);
        for (int i = 0; faults[i]; i++) putenv((char *)faults[i]);
        setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
        setenv("LD_PRELOAD", test_tool(b->arena, "crash_shim.so"), 1);
        const char *argv[16] = { "save_checkpoints", b->root, "1" };
        for (int i = 0; steps[i]; i++) argv[3 + i] = steps[i];
        execv(test_tool(b->arena, "save_checkpoints"), (char **)argv);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static const char *text_of(const Bench *b, const char *path)
{
    Str s;
    assert_no_error(file_read(b->arena, path, &s));
    return s.ptr;
}

static int n_events(const Bench *b)
{
    int n = 0;
    for (const char *p = text_of(b, b->log); *p; p++) n += *p == '\n';
    return n;
}

static bool has_mark(const char *name)
{
    return strstr(name, ".saving") || strstr(name, ".deleting") || strstr(name, ".replaced");
}

/* Every folder with a checkpoint's name must hold exactly the state of its step. */
static void check_folders(const Bench *b, bool is_tidy)
{
    DIR *d = opendir(b->root);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.' || !strcmp(e->d_name, LAST_CHECKPOINT_INFO)) continue;
        if (is_tidy && !str_starts(str_of(e->d_name), "eid_")) fail_msg("%s is left", e->d_name);
        if (is_tidy && has_mark(e->d_name)) fail_msg("%s is left", e->d_name);
        if (has_mark(e->d_name) || !str_starts(str_of(e->d_name), "eid_")) continue;
        int64_t step = 0;
        int seed = 0;
        assert_no_error(checkpoint_path_number(e->d_name, "seen_steps_", &step));
        assert_no_error(sample_load(path_join(b->arena, b->root, e->d_name), &seed));
        assert_int_equal(seed, step);
    }
    closedir(d);
}

/* The step of the checkpoint that last_checkpoint_info.json names; it must load. */
static int last_step(const Bench *b)
{
    json_t *info =
        json_loads(text_of(b, path_join(b->arena, b->root, LAST_CHECKPOINT_INFO)), 0, NULL);
    const char *folder = json_string_value(json_object_get(info, "checkpoint_folder_path"));
    assert_non_null(folder);
    assert_int_equal(folder[0], '/');
    int seed = 0;
    assert_no_error(sample_load(folder, &seed));
    json_decref(info);
    return seed;
}

static void check_state(const Bench *b, int former)
{
    int seed = 0;
    check_folders(b, false);
    assert_true(last_step(b) >= former);
    const CheckpointTotals totals = { former, 10 * former, 100, 1000 };
    assert_no_error(
        sample_load(path_join(b->arena, b->root, checkpoint_name(b->arena, "x", &totals)), &seed));
}

/* What a run that meets no trouble saves. */
static void save_step(const Bench *b, int step)
{
    Arena *a = arena_new();
    const CheckpointStrategy strategy = { .every = 1, .keep = 1 };
    const CheckpointExecution execution = { .checkpoint_path = b->root, .experiment_id = "x" };
    const CheckpointTotals totals = { step, 10 * step, 100, 1000 };
    const CheckpointContent content = sample_content(a, step);
    assert_no_error(
        checkpoint_saving_save(checkpoint_saving_new(a, &strategy, &execution), &totals, &content));
    arena_free(a);
}

/* A later run saves as if nothing had happened, and cleans up. */
static void check_recovery(const Bench *b)
{
    save_step(b, 9);
    check_folders(b, true);
    assert_int_equal(last_step(b), 9);
}

/* Step 1 is there from an earlier run; this one saves 2, 2 again, and 3, each time deleting the one
 * before. */
static const char *const steps[] = { "2", "2", "3", NULL };

static void prepare(const Bench *b)
{
    assert_no_error(remove_tree(b->root));
    save_step(b, 1);
}

static int count_events(const Bench *b, const char *option)
{
    prepare(b);
    assert_int_equal(run(b, (Faults){ option, NULL }, steps), 0);
    int n = n_events(b);
    assert_int_equal(last_step(b), 3);
    check_folders(b, true);
    assert_true(n > 60);
    return n;
}

static void kill_at_every_event(const char *option)
{
    Bench b = bench_new();
    int n = count_events(&b, option);
    for (int i = 1; i <= n; i++) {
        prepare(&b);
        const char *at = arena_printf(b.arena, "CRASH_AT=any:%d", i);
        int status = run(&b, (Faults){ at, "CRASH_MODE=kill", option, NULL }, steps);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) fail_msg("%s: not killed", at);
        check_state(&b, 1);
        check_recovery(&b);
    }
    arena_free(b.arena);
}

TEST(crash_killed_at_any_event_leaves_the_old_state_or_the_new)
{
    kill_at_every_event(NULL);
}

TEST(crash_killed_at_any_event_where_folders_cannot_be_swapped)
{
    kill_at_every_event("CRASH_NO_SWAP=1");
}

/* Only what could not be removed may be left unfinished, and only with a warning. */
static void check_unfinished(const Bench *b, const char *said)
{
    DIR *d = opendir(b->root);
    for (struct dirent *e; (e = readdir(d));)
        if (has_mark(e->d_name) && !strstr(said, "warning: "))
            fail_msg("%s is left; %s", e->d_name, said);
    closedir(d);
}

/* Where the N-th event fails with this error, the program says so or warns, and leaves nothing half
 * done. */
static void fail_at_every_event(const char *mode, const char *option, const char *message)
{
    Bench b = bench_new();
    int n = count_events(&b, option);
    for (int i = 1; i <= n; i++) {
        prepare(&b);
        const char *at = arena_printf(b.arena, "CRASH_AT=any:%d", i);
        int status = run(&b, (Faults){ at, mode, option, NULL }, steps);
        if (!WIFEXITED(status)) fail_msg("%s: died: %s", at, text_of(&b, b.output));
        const char *said = text_of(&b, b.output);
        if (WEXITSTATUS(status) == 3)
            assert_contains(said, message);
        else if (WEXITSTATUS(status) != 0 || (last_step(&b) != 3))
            fail_msg("%s: exit %d: %s", at, WEXITSTATUS(status), said);
        else if (!strstr(said, "warning: ") || !strstr(said, message))
            fail_msg("%s: nothing said: %s", at, said);
        check_unfinished(&b, said);
        check_state(&b, 1);
        check_recovery(&b);
    }
    arena_free(b.arena);
}

TEST(crash_error_at_any_event_is_reported_and_leaves_no_half_checkpoint)
{
    fail_at_every_event("CRASH_MODE=EIO", NULL, "Input/output error");
}

TEST(crash_error_at_any_event_where_folders_cannot_be_swapped)
{
    fail_at_every_event("CRASH_MODE=EIO", "CRASH_NO_SWAP=1", "Input/output error");
}

TEST(crash_full_disk_from_any_event_on_is_reported_and_leaves_no_half_checkpoint)
{
    fail_at_every_event("CRASH_MODE=ENOSPC", NULL, "No space left on device");
}

/* Checkpoints that are complete, each with the state of its step. */
static int n_good(const Bench *b)
{
    int n = 0;
    DIR *d = opendir(b->root);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        int seed = 0;
        if (!str_starts(str_of(e->d_name), "eid_") || has_mark(e->d_name)) continue;
        Error *damaged = sample_load(path_join(b->arena, b->root, e->d_name), &seed);
        n += !damaged;
        error_free(damaged);
    }
    closedir(d);
    return n;
}

/* A disk that loses a write makes the newest checkpoint one that cannot be read. */
TEST(crash_the_only_good_checkpoint_is_never_deleted)
{
    static const char *const two[] = { "2", "3", NULL };
    Bench b = bench_new();
    int n_kept = 0;
    assert_no_error(remove_tree(b.root));
    assert_int_equal(run(&b, (Faults){ NULL }, two), 0);
    int n = 0;
    for (const char *p = text_of(&b, b.log); *p; p = strchr(p, '\n') + 1)
        n += str_starts(str_of(p), "write ");
    assert_int_equal(n_good(&b), 1);
    for (int i = 1; i <= n; i++) {
        const char *at = arena_printf(b.arena, "CRASH_AT=write:%d", i);
        assert_no_error(remove_tree(b.root));
        int status = run(&b, (Faults){ at, "CRASH_MODE=lost", NULL }, two);
        if (!WIFEXITED(status)) fail_msg("%s: died: %s", at, text_of(&b, b.output));
        if (n_good(&b) < 1) fail_msg("%s: no good checkpoint is left", at);
        n_kept += strstr(text_of(&b, b.output), "no old checkpoint is deleted") != NULL;
        save_step(&b, 9);
        assert_int_equal(last_step(&b), 9);
    }
    assert_true(n_kept > 0);
    arena_free(b.arena);
}

TEST(crash_folder_that_cannot_be_written_is_named)
{
    Bench b = bench_new();
    prepare(&b);
    int status = run(&b, (Faults){ "CRASH_AT=create:1", "CRASH_MODE=EROFS", NULL }, steps);
    assert_int_equal(WEXITSTATUS(status), 3);
    const char *said = text_of(&b, b.output);
    assert_contains(said, "cannot save checkpoint ");
    assert_contains(said, "cannot create folder ");
    assert_contains(said, "Read-only file system");
    check_folders(&b, true);
    assert_int_equal(last_step(&b), 1);
    arena_free(b.arena);
}

/* The position of the first line from `from` on that begins with `kind` and contains `path`. */
static const char *find_event(const char *from, const char *kind, const char *path)
{
    for (const char *line = from; *line; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n'), *at = strstr(line, path);
        if (str_starts(str_of(line), kind) && at && at < end) return line;
    }
    fail_msg("no event \"%s %s\" in\n%s", kind, path, from);
    return NULL;
}

/* After a loss of power only what was synced is there, so the order decides. */
TEST(crash_everything_is_synced_before_it_gets_its_name)
{
    Bench b = bench_new();
    prepare(&b);
    assert_int_equal(run(&b, (Faults){ NULL }, (const char *[]){ "2", "3", NULL }), 0);
    const char *at = text_of(&b, b.log), *itself = arena_printf(b.arena, " %s\n", b.root);
    for (int step = 2; step <= 3; step++) {
        const char *folder = arena_printf(b.arena, "seen_steps_%d-", step);
        const char *const file[2] = { "__0_0.distcp.tmp", "manifest.json.tmp" };
        for (int f = 0; f < 2; f++) {
            at = find_event(at, "create", file[f]);
            at = find_event(at, "fsync", file[f]);
            at = find_event(at, "rename", file[f]);
        }
        at = find_event(at, "fsync", ".saving\n");
        at = find_event(at, "rename", folder);
        at = find_event(at, "fsync", itself);
        at = find_event(at, "fsync", LAST_CHECKPOINT_INFO);
        at = find_event(at, "rename", LAST_CHECKPOINT_INFO);
        at = find_event(at, "fsync", itself);
    }
    at = find_event(at, "rename", "seen_steps_2-"); /* the old one goes last, its name first */
    at = find_event(at, "fsync", itself);
    at = find_event(at, "remove", ".deleting");
    arena_free(b.arena);
}
