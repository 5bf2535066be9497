/* crew.c - a training that a launcher started as several processes on one machine. */
#include "train/crew.h"
#include "base/log.h"
#include "comm/gathering.h"
#include <inttypes.h>

static Error *check(const Rank *r)
{
    if (r->world_size == 1) return NULL;
    if (r->launcher == LAUNCHER_MPI)
        return error_new("%" PRId64 " ranks were started by MPI: more than one is not built yet",
                         r->world_size);
    if (!r->local_world_size)
        return error_new("WORLD_SIZE is %" PRId64 ": more than one rank is not built yet (with "
                         "LOCAL_WORLD_SIZE, which torchrun sets, the processes of one machine run "
                         "as one rank)",
                         r->world_size);
    if (r->local_world_size == r->world_size) return NULL;
    return error_new("WORLD_SIZE is %" PRId64 ", LOCAL_WORLD_SIZE %" PRId64
                     ": a job on several machines is one for mpirun or srun, not for torchrun, and "
                     "more than one rank is not built yet; on one machine: torchrun --nnodes 1",
                     r->world_size, r->local_world_size);
}

static Error *lead(Arena *a, const Rank *process,
                   Error *(*work)(Arena *a, const void *context, const Crew *crew),
                   const void *context)
{
    Rank rank = rank_alone;
    rank.launcher = process->launcher;
    Crew crew = { .rank = &rank, .n_processes = process->local_world_size };
    if (crew.n_processes > 1) TRY(gathering_lead(a, process, &crew.others));
    Error *e = work(a, context, &crew);
    if (!crew.others) return e;
    int64_t lost = gathering_lost(crew.others);
    if (lost)
        log_warning("the process with LOCAL_RANK=%" PRId64 " has ended before this one", lost);
    gathering_tell(crew.others, e ? error_exit_status(e) : 0);
    return e;
}

static Error *wait_for_leader(const Rank *process)
{
    int status;
    TRY(gathering_follow(process, &status));
    if (status == 0) return NULL;
    return error_silent(status > 0 ? status : 1);
}

Error *crew_run(Arena *a, const Rank *process,
                Error *(*work)(Arena *a, const void *context, const Crew *crew),
                const void *context)
{
    TRY(check(process));
    if (process->local_rank > 0) return wait_for_leader(process);
    return lead(a, process, work, context);
}

void crew_watch(const Crew *c)
{
    if (c && c->others) gathering_watch(c->others);
}

void crew_notice(const Crew *c, int64_t samples_per_step)
{
    if (!c || c->n_processes < 2) return;
    log_info("%" PRId64 " processes were started; the one with LOCAL_RANK=0 trains, with all cores "
             "that it may use, as one rank: %" PRId64 " samples a step instead of %" PRId64,
             c->n_processes, samples_per_step, samples_per_step * c->n_processes);
}
