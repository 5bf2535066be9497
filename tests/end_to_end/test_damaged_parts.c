/* test_damaged_parts.c - a checkpoint of several ranks of which something is wrong: one clear error
 * that names the file, and the older checkpoint that can be gone on from. */
#include "checkpoint/manifest.h"
#include "end_to_end/training.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEPS "settings.training_target.num_target_steps="
#define EVERY "--set", "settings.intervals.checkpointing_interval_in_steps=2"

/* What is done to a file of the last checkpoint. */
typedef enum Harm { FLIP_FIRST, FLIP_MIDDLE, FLIP_LAST, CUT, REMOVE, FUTURE, PICKLE } Harm;

static const struct {
    const char *format, *file;
    Harm harm;
    const char *says;
} cases[] = {
    { "dcp", "__0_0.distcp", FLIP_MIDDLE, "__0_0.distcp" },
    { "dcp", "__1_0.distcp", FLIP_FIRST, "__1_0.distcp" },
    { "dcp", "__1_0.distcp", FLIP_MIDDLE, "__1_0.distcp" },
    { "dcp", "__1_0.distcp", FLIP_LAST, "__1_0.distcp" },
    { "dcp", "__1_0.distcp", CUT, "it was cut short or replaced" },
    { "dcp", "__1_0.distcp", REMOVE, "__1_0.distcp: No such file" },
    { "dcp", ".metadata", FLIP_MIDDLE, ".metadata" },
    { "dcp", "manifest.json", FLIP_MIDDLE, "manifest.json" },
    { "dcp", ".metadata", PICKLE,
      "asks for posix.system; only tensors and plain values are read, and no code is ever run" },
    { "native", "part_0.safetensors", FLIP_FIRST, "part_0.safetensors" },
    { "native", "part_1.safetensors", FLIP_MIDDLE, "part_1.safetensors" },
    { "native", "part_1.safetensors", REMOVE, "part_1.safetensors: No such file" },
    { "native", "manifest.json", FUTURE,
      "version 9 of the format; this program reads versions up to 2" },
};

static void flip(Str file, size_t at)
{
    ((char *)file.ptr)[at] ^= 4;
}

/* The head is another one, and the checksum fits. */
static void write_future(const char *path, Str file)
{
    Text t = { 0 };
    const char *version = strstr(file.ptr, "\"version\": 2");
    assert_non_null(version);
    text_add(&t, file.ptr, file.len - 21); /* the last line is the checksum */
    t.ptr[version - file.ptr + 11] = '9';
    manifest_seal(&t);
    assert_no_error(file_write(path, t.ptr, t.len));
    text_free(&t);
}

static void harm(Arena *a, const char *folder, const char *name, Harm how)
{
    static const char pickle[] = "cposix\nsystem\np0\n(Vtouch x\np1\ntp2\nRp3\n.";
    const char *path = path_join(a, folder, name);
    Str file;
    assert_no_error(file_read(a, path, &file));
    switch (how) {
    case FLIP_FIRST:
        flip(file, 20);
        break;
    case FLIP_MIDDLE:
        flip(file, file.len / 2);
        break;
    case FLIP_LAST:
        flip(file, file.len - 2);
        break;
    case CUT:
        file.len -= 100;
        break;
    case REMOVE:
        assert_int_equal(unlink(path), 0);
        return;
    case FUTURE:
        write_future(path, file);
        return;
    case PICKLE: /* as if torch had written it: without our manifest */
        assert_int_equal(unlink(path_join(a, folder, MANIFEST_NAME)), 0);
        file = str_of(pickle);
        break;
    }
    assert_no_error(file_write(path, file.ptr, file.len));
}

/* Two ranks, stopped after two checkpoints. */
static const char *train(const Bench *b, const char *format)
{
    const char *set = arena_printf(
        b->arena, "checkpoint_saving.config.checkpoint_saving_execution.config.format=%s", format);
    const char *const words[] = { "--ranks", "2", "--set", set, EVERY, "--set", STEPS "4", NULL };
    assert_ended_well(bench_run(b, format, NULL, words, NULL));
    return bench_last_checkpoint(b, format, NULL);
}

static void copy_folder(Arena *a, const char *from, const char *to)
{
    assert_int_equal(system(arena_printf(a, "cp -a '%s' '%s'", from, to)), 0);
}

TEST(damage_of_any_kind_is_one_error_that_names_file_and_older_checkpoint)
{
    Bench b = bench_new();
    const char *format = "", *last = NULL, *whole = path_join(b.arena, b.root, "whole");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(format, cases[i].format) != 0) {
            format = cases[i].format;
            last = train(&b, format);
            assert_no_error(remove_tree(whole));
            copy_folder(b.arena, last, whole);
        }
        harm(b.arena, last, cases[i].file, cases[i].harm);
        const char *const resume[] = { "resume", last, "--ranks", "2", "--set", STEPS "6", NULL },
                          *const verify[] = { "checkpoint", "verify", last, NULL };
        const bool is_torch = cases[i].harm == PICKLE; /* has nothing to go on with */
        Outcome o = command_output(b.arena, is_torch ? verify : resume, NULL);
        assert_refused(o, 1, cases[i].says);
        if (!is_torch) assert_contains(o.text, "an older checkpoint can be opened: ");
        if (!is_torch) assert_contains(o.text, "seen_steps_2-");
        assert_false(file_exists("x"));
        assert_no_error(remove_tree(last));
        copy_folder(b.arena, whole, last);
    }
    /* from which the training goes on */
    const char *const words[] = { "resume", last, "--set", STEPS "6", NULL };
    assert_ended_well(command_output(b.arena, words, NULL));
    arena_free(b.arena);
}
