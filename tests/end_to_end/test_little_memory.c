/* test_little_memory.c - commands that find less memory than they need end with a message about
 * it, whatever they were doing. */
#include "cli/command_line.h"
#include "end_to_end/training.h"
#include <stdlib.h>
#include <string.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* The numbers of address spaces, in MB, with which the command ended well and with an error. */
static void climb(Arena *a, const char *args, int most, int *n_well, int *n_refused)
{
    const char *said;
    for (int mb = 24; mb <= most; mb += 8) {
        const char *line = arena_printf(a, "ulimit -c 0; ulimit -v %d; MODALITIES_THREADS=2 %s %s",
                                        mb << 10, program_path(), args);
        int status = shell_run(a, line, &said);
        if (status == 127) continue; /* too little for the libraries */
        if (status > 1) fail_msg("%d MB: status %d: %s", mb, status, said);
        bool is_told = strstr(said, "memory") || strstr(said, "thread");
        if (status && !is_told) fail_msg("%d MB: %s", mb, said);
        ++*(status ? n_refused : n_well);
    }
}

TEST(too_little_memory_of_any_amount_is_told)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    int n_well = 0, n_refused = 0;
    assert_int_equal(setenv("TRAIN_PBIN", b.pbin, 1), 0);
    climb(a,
          arena_printf(a,
                       "run --config_file_path tests/end_to_end/train.yaml --experiments_root_path "
                       "%s/x",
                       b.root),
          96, &n_well, &n_refused);
    climb(a,
          arena_printf(a,
                       "data shuffle_tokenized_data --input_data_path %s --output_data_path "
                       "%s/shuffled.pbin --file_existence_policy override",
                       b.pbin, b.root),
          48, &n_well, &n_refused);
    test_note("%d ended well, %d with an error", n_well, n_refused);
    assert_true(n_refused > 0);
    arena_free(a);
}
#endif
