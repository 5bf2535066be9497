/* rank.c - the place of a process among the ranks of its job. */
#include "base/rank.h"
#include "base/environment.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const Rank rank_alone = { .world_size = 1, .local_world_size = 1 };

static const char *text_of(const char *name)
{
    const char *text = environment_get(name);
    return text && *text ? text : NULL;
}

/* Sets *value where the variable is set. */
static Error *read_number(const char *name, int64_t least, int64_t *value, bool *is_set)
{
    const char *text = text_of(name);
    char *end;
    if (!text) return NULL;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (*end || end == text || errno)
        return error_usage("the environment variable %s is \"%s\", an integer is needed", name,
                           text);
    if (n < least)
        return error_usage("the environment variable %s is \"%s\"; it must be at least %lld", name,
                           text, (long long)least);
    *value = n;
    *is_set = true;
    return NULL;
}

static Error *check_within(const char *name, int64_t rank, const char *size_name, int64_t size)
{
    if (rank < size) return NULL;
    return error_usage("the environment variable %s is \"%lld\"; with %s=%lld it must be 0 to %lld",
                       name, (long long)rank, size_name, (long long)size, (long long)size - 1);
}

/* Where one kind of launcher says a process's place. */
typedef struct Names {
    const char *needs; /* the launcher is this one where that is set; NULL: where any is */
    const char *rank, *world_size, *local_rank, *local_world_size; /* the last may be NULL */
} Names;

static const Names plain = { NULL, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE" };

/* Those that start the processes of an MPI job. Slurm sets its variables for scripts, too; those of
 * PMIx only for what srun --mpi=pmix starts. */
static const Names mpi[] = {
    { "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
      "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE" },
    { "PMIX_RANK", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL },
    { "PMI_SIZE", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS" },
};

/* Slurm tells how many ranks run on each machine as "4(x2),3". 0 where it does not. */
static int64_t slurm_local_size(void)
{
    const char *at = text_of("SLURM_STEP_TASKS_PER_NODE"), *node = text_of("SLURM_NODEID");
    for (long left = node ? atol(node) : 0; at && *at; at += *at == ',') {
        char *end;
        long n = strtol(at, &end, 10), times = 1;
        if (end == at || n < 1) return 0;
        if (!strncmp(end, "(x", 2)) times = strtol(end + 2, &end, 10);
        if (left < times) return n;
        left -= times;
        at = end + strcspn(end, ",");
    }
    return 0;
}

static Error *read_local_size(const Names *n, Rank *r, bool *is_told)
{
    if (n->local_world_size)
        return read_number(n->local_world_size, 1, &r->local_world_size, is_told);
    int64_t told = slurm_local_size();
    *is_told = told > 0;
    if (told > 0) r->local_world_size = told;
    return NULL;
}

/* A rank beyond the first is one of several, whose number somebody must have told. */
static Error *check_place(const Names *n, const char *name, int64_t rank, int64_t world_size,
                          bool has_world)
{
    if (has_world || !rank) return check_within(name, rank, n->world_size, world_size);
    return error_usage(
        "the environment variable %s is \"%lld\", but %s is not set: a launcher sets "
        "both; for one process unset %s",
        name, (long long)rank, n->world_size, name);
}

static Error *read_place(const Names *n, Rank *r, bool *has_any)
{
    bool has_rank = false, has_local = false, has_world = false, has_local_world = false;
    const char *size_name = n->local_world_size ? n->local_world_size : "SLURM_STEP_TASKS_PER_NODE";
    TRY(read_number(n->rank, 0, &r->rank, &has_rank));
    TRY(read_number(n->local_rank, 0, &r->local_rank, &has_local));
    TRY(read_number(n->world_size, 1, &r->world_size, &has_world));
    TRY(read_local_size(n, r, &has_local_world));
    TRY(check_place(n, n->rank, r->rank, r->world_size, has_world));
    TRY(check_place(n, n->local_rank, r->local_rank, r->world_size, has_world));
    if (has_local_world)
        TRY(check_within(n->local_rank, r->local_rank, size_name, r->local_world_size));
    else if (r->world_size > 1)
        r->local_world_size = 0;
    if (r->local_world_size > r->world_size)
        return error_new("%s is %lld, but %s is only %lld", size_name,
                         (long long)r->local_world_size, n->world_size, (long long)r->world_size);
    *has_any = has_rank || has_local || has_world || has_local_world;
    return NULL;
}

static const Names *mpi_launcher(void)
{
    for (size_t i = 0; i < sizeof mpi / sizeof *mpi; i++)
        if (text_of(mpi[i].needs) && text_of(mpi[i].world_size)) return &mpi[i];
    return NULL;
}

/* A wrapper may set RANK and WORLD_SIZE for programs of torch; then they must say the same. */
static Error *check_agreement(const Names *n, const Rank *r)
{
    bool is_set;
    int64_t rank = r->rank, world_size = r->world_size;
    TRY(read_number(plain.rank, 0, &rank, &is_set));
    TRY(read_number(plain.world_size, 1, &world_size, &is_set));
    if (rank == r->rank && world_size == r->world_size) return NULL;
    return error_new("RANK=%lld and WORLD_SIZE=%lld are set, but by %s=%lld and %s=%lld this is "
                     "another rank: unset RANK and WORLD_SIZE, or start without mpirun",
                     (long long)rank, (long long)world_size, n->rank, (long long)r->rank,
                     n->world_size, (long long)r->world_size);
}

Error *rank_of_process(Rank *out)
{
    bool has_any = false;
    const Names *launcher = mpi_launcher();
    *out = rank_alone;
    TRY(read_place(launcher ? launcher : &plain, out, &has_any));
    out->master_address = text_of("MASTER_ADDR");
    out->master_port = text_of("MASTER_PORT");
    if (launcher) {
        out->launcher = LAUNCHER_MPI;
        return check_agreement(launcher, out);
    }
    if (has_any)
        out->launcher = text_of("TORCHELASTIC_RUN_ID") ? LAUNCHER_TORCHRUN : LAUNCHER_VARIABLES;
    return NULL;
}
