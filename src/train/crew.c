/* crew.c - starts the ranks of a training that this process is, and joins what they end with. */
#include "train/crew.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "comm/gathering.h"
#include "comm/transports.h"
#include "monitor/error_log.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RANKS = 256 }; /* threads of one process */

/* ---- how many ranks ---- */

static Error *check_ranks_option(const Rank *p, int64_t n)
{
    static const char *const name[] = { [LAUNCHER_VARIABLES] = "by its variables",
                                        [LAUNCHER_TORCHRUN] = "by torchrun",
                                        [LAUNCHER_MPI] = "by mpirun or srun" };
    if (!n || p->launcher == LAUNCHER_NONE) return NULL;
    if (p->launcher == LAUNCHER_VARIABLES && p->world_size == n && !p->rank && !p->local_rank)
        return NULL;
    return error_usage("--ranks %" PRId64 ": this process is rank %" PRId64 " of %" PRId64
                       " %s; --ranks is for a job without a launcher",
                       n, p->rank, p->world_size, name[p->launcher]);
}

static Error *check_machines(const Rank *p)
{
    if (p->launcher == LAUNCHER_MPI || p->local_world_size == p->world_size) return NULL;
    if (!p->local_world_size)
        return error_new("WORLD_SIZE is %" PRId64 ", but LOCAL_WORLD_SIZE is not set; for %" PRId64
                         " ranks in one process: --ranks %" PRId64
                         "; for processes that are one rank each: mpirun -n %" PRId64
                         ", or torchrun on one machine",
                         p->world_size, p->world_size, p->world_size, p->world_size);
    return error_new("WORLD_SIZE is %" PRId64 ", LOCAL_WORLD_SIZE %" PRId64
                     ": a job on several machines is one for mpirun or srun, not for torchrun; on "
                     "one machine: torchrun --nnodes 1",
                     p->world_size, p->local_world_size);
}

/* ---- one rank ---- */

typedef struct Member {
    const CrewSettings *s;
    Arena *arena;
    Rank rank;
    Consensus consensus;
    Crew crew;
    pthread_t thread;
    Error *error;
} Member;

static Error *leave_log(const CrewSettings *s, const Rank *rank, Error *e, const char *fault)
{
    bool is_failure = e && (*error_text(e) || fault) && error_exit_status(e) != EXIT_STOPPED;
    if (!is_failure || !s->error_log_folder) return e;
    Error *own = fault ? error_new("%s", fault) : NULL;
    if (own && error_exit_status(e) == 2) own = error_as_usage(own);
    e = error_join(e, error_log_save(s->error_log_folder, rank, own ? own : e));
    error_free(own);
    return e;
}

static void *member_main(void *arg)
{
    Member *m = arg;
    if (m->rank.rank > 0) log_leave_to_another();
    Error *e = m->s->work(m->arena, m->s->context, &m->crew);
    if (e && error_exit_status(e) != EXIT_STOPPED) e = consensus_break(&m->consensus, e);
    m->error = m->consensus.fault ? leave_log(m->s, &m->rank, e, m->consensus.fault) : e;
    return NULL;
}

/* A launcher may have bound the process to its share already. */
static int threads_of(const CrewSettings *s, int64_t n_here)
{
    int cores = thread_cores();
    bool is_bound = s->process->launcher == LAUNCHER_MPI && cores < sysconf(_SC_NPROCESSORS_ONLN);
    if (s->n_threads) return (int)s->n_threads;
    if (environment_get("MODALITIES_THREADS")) return 0; /* as said there */
    if (is_bound) return cores;
    return cores > n_here ? cores / (int)n_here : 1;
}

static void member_init(Member *m, const CrewSettings *s, const Crew *process, Comm *world)
{
    m->s = s;
    m->arena = arena_new();
    m->consensus = (Consensus){ .world = world, .arena = m->arena };
    m->crew = *process;
    m->crew.rank = &m->rank;
    m->crew.consensus = &m->consensus;
    m->crew.n_threads = threads_of(s, m->rank.local_world_size);
    m->crew.memory = memory_available() / (size_t)m->rank.local_world_size;
}

static void member_free(Member *m)
{
    m->consensus.world->free(m->consensus.world);
    arena_free(m->arena);
}

/* ---- ranks that are threads ---- */

static Member *members_new(Arena *a, const CrewSettings *s, const Crew *process, int n)
{
    Member *m = NEW_N(a, Member, n);
    Comm **comm = NEW_N(a, Comm *, n);
    comm_threads_new(n, comm);
    for (int r = 0; r < n; r++) {
        Rank *rank = &m[r].rank;
        *rank = *s->process;
        rank->rank = rank->local_rank = r;
        rank->world_size = rank->local_world_size = n;
        if (rank->launcher == LAUNCHER_NONE) rank->launcher = LAUNCHER_THREADS;
        member_init(&m[r], s, process, comm[r]);
    }
    return m;
}

/* The number of ranks that run; fewer than n only after an error. */
static int start_members(Member *m, int n)
{
    for (int r = 1; r < n; r++) {
        if (thread_start(&m[r].thread, member_main, &m[r])) continue;
        m[0].error = consensus_break(
            &m[0].consensus,
            error_new("no thread could be made for rank %d of %d: %s", r, n, strerror(errno)));
        return r;
    }
    return n;
}

/* What one rank broke off with comes back from the calls of all others, perhaps with context. */
static bool is_repeated(const Member *m, int n, int rank)
{
    for (int r = 0; r < n; r++) {
        const Error *e = m[r].error;
        if (r == rank || !e || !*error_text(e)) continue;
        const char *found = strstr(error_text(m[rank].error), error_text(e));
        bool is_same = found && strlen(error_text(e)) == strlen(error_text(m[rank].error));
        if (found && (!is_same || r < rank)) return true;
    }
    return false;
}

static Error *join_errors(Arena *a, Member *m, int n)
{
    Error *all = NULL;
    bool *is_left_out = NEW_N(a, bool, n);
    for (int r = 0; r < n; r++) is_left_out[r] = m[r].error && is_repeated(m, n, r);
    for (int r = 0; r < n; r++)
        if (is_left_out[r])
            error_free(m[r].error);
        else
            all = error_join(all, m[r].error);
    return all;
}

static Error *run_threads(Arena *a, const CrewSettings *s, const Crew *process, int n)
{
    Member *m = members_new(a, s, process, n);
    int n_running = start_members(m, n);
    if (n_running == n) member_main(&m[0]);
    for (int r = 1; r < n_running; r++) pthread_join(m[r].thread, NULL);
    Error *e = join_errors(a, m, n);
    for (int r = n; r-- > 0;) member_free(&m[r]);
    return e;
}

/* ---- ranks that are processes ---- */

static Error *compare_machines(Comm *world, Rank *rank)
{
    double n[] = { (double)rank->local_world_size, -(double)rank->local_world_size };
    TRY(world->all_reduce(world, n, 2, F64, REDUCE_MAX, NULL));
    rank->is_uneven = n[0] != -n[1];
    if (rank->is_uneven && !rank->rank)
        log_info("machines have different numbers of ranks; what is to be sharded over those of a "
                 "machine (HYBRID_SHARD) is sharded over all");
    return NULL;
}

/* What is wrong, told while the other processes still wait for this one: mpirun ends all when the
 * first is gone. */
static Error *tell_now(Error *e)
{
    if (!e || !*error_text(e)) return e;
    const int status = error_exit_status(e);
    fflush(stdout);
    fprintf(stderr, "%s\n", error_text(e));
    error_free(e);
    return error_silent(status);
}

/* What rank 0 says for all, the others leave to it. */
static Error *run_process(const CrewSettings *s)
{
    Member m = { .rank = *s->process };
    const Crew process = { .n_processes = 1 };
    Comm *world;
    TRY(comm_mpi_open(s->process, &world));
    if (!m.rank.local_world_size) m.rank.local_world_size = 1;
    TRY(compare_machines(world, &m.rank));
    member_init(&m, s, &process, world);
    member_main(&m);
    m.error = tell_now(m.error);
    member_free(&m);
    return m.error;
}

/* ---- one process of those that torchrun has started ---- */

static Error *run_here(Arena *a, const CrewSettings *s, const Crew *process, int64_t n)
{
    if (n > MOST_RANKS)
        return error_usage("%" PRId64 " ranks are more than one process can have; allowed: 1 to %d",
                           n, MOST_RANKS);
    if (n > 1) return run_threads(a, s, process, (int)n);
    Crew crew = *process;
    Rank rank = rank_alone;
    rank.launcher = s->process->launcher;
    crew.rank = &rank;
    crew.n_threads = (int)s->n_threads;
    return leave_log(s, &rank, s->work(a, s->context, &crew), NULL);
}

static Error *lead(Arena *a, const CrewSettings *s)
{
    Crew crew = { .n_processes = s->n_ranks ? 1 : s->process->local_world_size };
    if (crew.n_processes > 1) TRY(gathering_lead(a, s->process, &crew.others));
    Error *e = run_here(a, s, &crew, s->n_ranks ? s->n_ranks : crew.n_processes);
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

static Error *check(const CrewSettings *s)
{
    TRY(check_ranks_option(s->process, s->n_ranks));
    return s->n_ranks ? NULL : check_machines(s->process);
}

Error *crew_run(Arena *a, const CrewSettings *s)
{
    Error *e = check(s);
    if (e) return leave_log(s, s->process, e, NULL);
    if (s->process->launcher == LAUNCHER_MPI && s->process->world_size > 1) return run_process(s);
    if (s->process->local_rank > 0) return wait_for_leader(s->process);
    return lead(a, s);
}

Consensus *crew_consensus(const Crew *c)
{
    return c ? c->consensus : NULL;
}

void crew_watch(const Crew *c)
{
    if (c && c->others && !c->rank->rank) gathering_watch(c->others);
}

void crew_notice(const Crew *c)
{
    if (!c || c->n_processes < 2) return;
    log_info("%" PRId64 " processes were started; the one with LOCAL_RANK=0 trains, its threads "
             "are the ranks",
             c->n_processes);
}
