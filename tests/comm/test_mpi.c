/* test_mpi.c - ranks that are processes under mpirun, which try what every transport must do, and
 * see one of them fail. */
#include "cli/command_line.h"
#include "mpirun.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The exit status of n processes that try `what`; `flags` are mpirun's. */
static int run_ranks(Arena *a, int n, const char *flags, const char *what, const char **output)
{
    mpirun_prepare(a);
    return shell_run(a,
                     arena_printf(a, "mpirun %s --oversubscribe -n %d %s %s", flags, n,
                                  test_tool(a, "comm_ranks"), what),
                     output);
}

static void assert_all_done(int n, const char *what)
{
    Arena *a = arena_new();
    const char *output;
    int status = run_ranks(a, n, "", what, &output);
    for (int r = 0; r < n; r++) assert_contains(output, arena_printf(a, "rank %d: done", r));
    assert_int_equal(status, 0);
    arena_free(a);
}

TEST(processes_of_mpi_reduce_gather_scatter_in_the_order_of_ranks)
{
    for (int n = 1; n <= 3; n++) assert_all_done(n, "calls");
}

TEST(processes_of_mpi_exchange_messages_by_tags)
{
    assert_all_done(2, "exchange");
    assert_all_done(4, "exchange");
}

TEST(processes_of_mpi_form_groups_of_groups)
{
    assert_all_done(2, "groups");
    assert_all_done(4, "groups");
}

TEST(several_threads_of_processes_of_mpi_use_groups_at_once)
{
    assert_all_done(2, "threads");
}

/* mpirun gives a busy machine time before it kills those that it has asked to end. */
static const char *end_of(Arena *a, const char *how, const char *flags)
{
    const char *output;
    setenv("OMPI_MCA_odls_base_sigkill_timeout", "3", 0);
    int status = run_ranks(a, 3, flags, how, &output);
    if (!*flags) assert_int_not_equal(status, 0); /* with recovery mpirun does not mind */
    return output;
}

/* Ranks 0 and 1 of 3 wait for the last one, and tell so. */
static void assert_reported(Arena *a, const char *output, const char *why)
{
    static const char *const op[] = { "all_reduce", "exchange" };
    for (int r = 0; r < 2; r++) {
        const char *said = arena_printf(a, "rank %d: error after ", r);
        assert_contains(output, said);
        const char *line = strstr(output, said);
        assert_non_null(strchr(line, '\n'));
        line = arena_string_n(a, line, (size_t)(strchr(line, '\n') - line));
        assert_contains(line, why);
        assert_contains(line, arena_printf(a,
                                           "; rank %d waited in %s over dp_shard, layer 3, step "
                                           "17",
                                           r, op[r]));
        assert_true(atof(strstr(line, "after ") + 6) <= 10);
    }
}

TEST(an_abort_of_one_process_ends_the_waiting_of_all)
{
    Arena *a = arena_new();
    assert_reported(a, end_of(a, "abort", ""), "the last rank has had enough");
    arena_free(a);
}

TEST(a_process_that_does_not_come_is_an_error_at_all)
{
    Arena *a = arena_new();
    setenv("MODALITIES_COMM_TIMEOUT", "3", 1);
    assert_reported(a, end_of(a, "hang", ""), "has waited 3 s for rank 2");
    arena_free(a);
}

TEST(a_killed_process_is_reported_by_all_others)
{
    Arena *a = arena_new();
    const char *output = end_of(a, "die", "--enable-recovery");
    assert_reported(a, output, "rank 2 (process ");
    assert_contains(output, " has died; rank 0 waited");
    arena_free(a);
}

TEST(a_killed_process_is_reported_before_mpirun_kills_the_others)
{
    Arena *a = arena_new();
    setenv("OMPI_MCA_odls_base_sigkill_timeout", "1", 1); /* mpirun's own default */
    assert_reported(a, end_of(a, "die", ""), " has died; ");
    arena_free(a);
}

TEST(a_stopped_process_is_reported_by_all_others_within_ten_seconds)
{
    Arena *a = arena_new();
    const char *output = end_of(a, "stop", "");
    assert_reported(a, output, "is stopped: nothing was heard of it for 8 s");
    /* rank 0 got a signal meanwhile, as if mpirun had seen a death */
    assert_contains(output, "rank 2 does not answer since the signal came; rank 0 waits in "
                            "all_reduce over dp_shard, layer 3, step 17");
    arena_free(a);
}

TEST(processes_that_wait_in_mpi_itself_end_where_one_is_killed)
{
    Arena *a = arena_new();
    const char *output = end_of(a, "group", "--enable-recovery");
    for (int r = 0; r < 2; r++)
        assert_contains(output, arena_printf(a,
                                             "has died; rank %d ends, because MPI does not come "
                                             "back",
                                             r));
    arena_free(a);
}

TEST(processes_that_make_different_calls_are_told_so)
{
    Arena *a = arena_new();
    const char *output = end_of(a, "differ", "--enable-recovery");
    for (int r = 0; r < 3; r++)
        assert_contains(output, arena_printf(a, "rank %d: error after ", r));
    assert_true(strstr(output, "got 400 bytes from rank 2, but waited for 800") ||
                strstr(output, "MPI_ERR_TRUNCATE"));
    arena_free(a);
}

TEST(ranks_without_the_library_of_mpi_are_told_how_to_get_it)
{
    Arena *a = arena_new();
    const char *output;
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    setenv("MODALITIES_MPI", "/no/such/file.so", 1);
    assert_int_equal(shell_run(a, arena_printf(a, "%s none", test_tool(a, "comm_ranks")), &output),
                     1);
    assert_contains(output, "cannot load /no/such/file.so");
    unsetenv("MODALITIES_MPI");
    const char *copy = arena_printf(a, "%s/comm_ranks", test_folder());
    assert_int_equal(
        shell_run(a, arena_printf(a, "cp %s %s && %s none", test_tool(a, "comm_ranks"), copy, copy),
                  &output),
        1);
    assert_contains(output, "/modalities-mpi.so, which is not there: it is built by `make mpi`");
    arena_free(a);
}
