/* test_rank.c - a process reads its place among the ranks of its job from a launcher's variables.
 */
#include "base/rank.h"
#include "test.h"
#include <stdlib.h>

static void set_variables(const char *rank, const char *local, const char *world,
                          const char *local_world)
{
    static const char *const name[] = { "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE" };
    const char *const value[] = { rank, local, world, local_world };
    unsetenv("TORCHELASTIC_RUN_ID");
    for (int i = 0; i < 4; i++)
        if (value[i])
            setenv(name[i], value[i], 1);
        else
            unsetenv(name[i]);
}

TEST(a_process_without_launcher_is_rank_0_of_1)
{
    Rank r;
    set_variables(NULL, NULL, NULL, NULL);
    assert_no_error(rank_of_process(&r));
    assert_int_equal(r.rank, 0);
    assert_int_equal(r.local_rank, 0);
    assert_int_equal(r.world_size, 1);
    assert_int_equal(r.local_world_size, 1);
    assert_int_equal(r.launcher, LAUNCHER_NONE);
    set_variables("", "", "", "");
    assert_no_error(rank_of_process(&r));
    assert_int_equal(r.launcher, LAUNCHER_NONE);
}

TEST(a_launcher_gives_a_process_its_rank)
{
    Rank r;
    set_variables("6", "2", "8", "4");
    setenv("MASTER_ADDR", "node0", 1);
    setenv("MASTER_PORT", "29500", 1);
    assert_no_error(rank_of_process(&r));
    assert_int_equal(r.rank, 6);
    assert_int_equal(r.local_rank, 2);
    assert_int_equal(r.world_size, 8);
    assert_int_equal(r.local_world_size, 4);
    assert_int_equal(r.launcher, LAUNCHER_VARIABLES);
    assert_string_equal(r.master_address, "node0");
    assert_string_equal(r.master_port, "29500");
    setenv("TORCHELASTIC_RUN_ID", "none", 1);
    assert_no_error(rank_of_process(&r));
    assert_int_equal(r.launcher, LAUNCHER_TORCHRUN);
}

TEST(nobody_told_how_many_ranks_a_machine_has)
{
    Rank r;
    set_variables(NULL, NULL, "8", NULL);
    assert_no_error(rank_of_process(&r));
    assert_int_equal(r.rank, 0);
    assert_int_equal(r.world_size, 8);
    assert_int_equal(r.local_world_size, 0);
}

static void refused(const char *part)
{
    Rank r;
    assert_error_has(rank_of_process(&r), part);
}

TEST(a_rank_that_cannot_be_is_an_error)
{
    set_variables("x", NULL, NULL, NULL);
    refused("the environment variable RANK is \"x\", an integer is needed");
    set_variables(NULL, NULL, "99999999999999999999", NULL);
    refused("the environment variable WORLD_SIZE is \"99999999999999999999\"");
    set_variables(NULL, "-1", NULL, NULL);
    refused("the environment variable LOCAL_RANK is \"-1\"; it must be at least 0");
    set_variables(NULL, NULL, "0", NULL);
    refused("the environment variable WORLD_SIZE is \"0\"; it must be at least 1");
    set_variables("4", "0", "4", "4");
    refused("the environment variable RANK is \"4\"; with WORLD_SIZE=4 it must be 0 to 3");
    set_variables("1", "2", "4", "2");
    refused("LOCAL_RANK is \"2\"; with LOCAL_WORLD_SIZE=2 it must be 0 to 1");
    set_variables("1", NULL, NULL, NULL);
    refused("RANK is \"1\", but WORLD_SIZE is not set");
    set_variables("0", "3", "1", NULL);
    refused("LOCAL_RANK is \"3\"; with WORLD_SIZE=1 it must be 0 to 0");
    set_variables("1", "1", "2", "4");
    refused("LOCAL_WORLD_SIZE is 4, but WORLD_SIZE is only 2");
}

static void set_all(const char *const *pair)
{
    for (; *pair; pair += 2) setenv(pair[0], pair[1], 1);
}

static Rank rank_with(const char *const *pairs)
{
    Rank r;
    set_all(pairs);
    assert_no_error(rank_of_process(&r));
    return r;
}

TEST(a_process_of_mpirun_knows_its_rank)
{
    static const char *const pairs[] = { "OMPI_COMM_WORLD_RANK",
                                         "5",
                                         "OMPI_COMM_WORLD_SIZE",
                                         "8",
                                         "OMPI_COMM_WORLD_LOCAL_RANK",
                                         "1",
                                         "OMPI_COMM_WORLD_LOCAL_SIZE",
                                         "4",
                                         NULL };
    set_variables(NULL, NULL, NULL, NULL);
    Rank r = rank_with(pairs);
    assert_int_equal(r.launcher, LAUNCHER_MPI);
    assert_int_equal(r.rank, 5);
    assert_int_equal(r.world_size, 8);
    assert_int_equal(r.local_rank, 1);
    assert_int_equal(r.local_world_size, 4);
    set_variables("5", NULL, "8", NULL);
    assert_no_error(rank_of_process(&r));
    set_variables("0", NULL, "1", NULL);
    assert_error_has(rank_of_process(&r), "RANK=0 and WORLD_SIZE=1 are set, but by "
                                          "OMPI_COMM_WORLD_RANK=5 and OMPI_COMM_WORLD_SIZE=8");
}

TEST(a_process_of_srun_knows_its_rank_and_a_batch_script_is_none)
{
    static const char *const of_slurm[] = {
        "SLURM_PROCID", "3", "SLURM_LOCALID", "1", "SLURM_STEP_NUM_TASKS", "4", NULL
    };
    static const char *const of_pmix[] = { "PMIX_RANK", "3", NULL };
    set_variables(NULL, NULL, NULL, NULL);
    assert_int_equal(rank_with(of_slurm).launcher, LAUNCHER_NONE);
    Rank r = rank_with(of_pmix);
    assert_int_equal(r.launcher, LAUNCHER_MPI);
    assert_int_equal(r.rank, 3);
    assert_int_equal(r.world_size, 4);
    assert_int_equal(r.local_rank, 1);
    assert_int_equal(r.local_world_size, 0);
}

TEST(slurm_tells_the_ranks_of_each_machine_in_its_own_way)
{
    static const struct {
        const char *tasks, *node, *local;
        int64_t expected;
    } row[] = {
        { "4(x2),3", "0", "3", 4 }, { "4(x2),3", "1", "0", 4 }, { "4(x2),3", "2", "2", 3 },
        { "2", "0", "1", 2 },       { "2(x11)", "10", "1", 2 }, { "2", "1", "1", 0 },
        { "many", "0", "1", 0 },
    };
    static const char *const others[] = {
        "PMIX_RANK", "3", "SLURM_PROCID", "3", "SLURM_STEP_NUM_TASKS", "22", NULL
    };
    set_variables(NULL, NULL, NULL, NULL);
    set_all(others);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Rank r;
        setenv("SLURM_STEP_TASKS_PER_NODE", row[i].tasks, 1);
        setenv("SLURM_NODEID", row[i].node, 1);
        setenv("SLURM_LOCALID", row[i].local, 1);
        assert_no_error(rank_of_process(&r));
        assert_int_equal(r.local_world_size, row[i].expected);
    }
    Rank r;
    setenv("SLURM_STEP_TASKS_PER_NODE", "1,2", 1);
    setenv("SLURM_NODEID", "0", 1);
    assert_error_has(rank_of_process(&r),
                     "SLURM_LOCALID is \"1\"; with SLURM_STEP_TASKS_PER_NODE=1 it must be 0 to 0");
}
