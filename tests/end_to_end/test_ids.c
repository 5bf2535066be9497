/* test_ids.c - runs that begin in the same second without --experiment_id. */
#include "end_to_end/training.h"
#include <dirent.h>
#include <string.h>

TEST(runs_of_one_file_in_the_same_second_have_folders_of_their_own)
{
    enum { N_RUNS = 3 };
    Bench b = bench_new();
    Words words = bench_words(&b, "x", NULL, NULL);
    const char *without_id[16];
    int n = 0, n_folders = 0;
    pid_t child[N_RUNS];
    for (int i = 0; words[i]; i++) {
        if (!strcmp(words[i], "--experiment_id"))
            i++;
        else
            without_id[n++] = words[i];
    }
    without_id[n] = NULL;
    for (int i = 0; i < N_RUNS; i++) child[i] = command_start(b.arena, without_id, NULL, NULL);
    for (int i = 0; i < N_RUNS; i++) {
        Outcome o = command_wait(b.arena, child[i], NULL);
        assert_ended_well(o);
        assert_null(strstr(o.text, "already holds"));
    }
    DIR *d = opendir(b.root);
    assert_non_null(d);
    for (const struct dirent *entry; (entry = readdir(d));) {
        const char *id = entry->d_name; /* 2026-01-31__12-00-00_ and 16 digits */
        if (!strstr(id, "__")) continue;
        assert_int_equal(strlen(id), 37);
        assert_true(bench_has_checkpoint(&b, arena_string(b.arena, id)));
        n_folders++;
    }
    closedir(d);
    assert_int_equal(n_folders, N_RUNS);
    arena_free(b.arena);
}

TEST(the_configuration_may_say_where_experiments_go)
{
    Bench b = bench_new();
    const char *said = path_join(b.arena, b.root, "said");
    const char *const words[] = { "run",
                                  "--config_file_path",
                                  "tests/end_to_end/train.yaml",
                                  "--experiment_id",
                                  "x",
                                  "--set",
                                  arena_printf(b.arena, "settings.paths.experiments_root_path=%s",
                                               said),
                                  NULL };
    const char *const variables[] = { arena_printf(b.arena, "TRAIN_PBIN=%s", b.pbin), NULL };
    Outcome o = command_output(b.arena, words, variables);
    assert_ended_well(o);
    assert_contains(o.text, "as settings.paths.experiments_root_path says");
    const Bench there = { .arena = b.arena, .root = said };
    assert_true(bench_has_checkpoint(&there, "x"));
    arena_free(b.arena);
}
