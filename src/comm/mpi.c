/* mpi.c - the ranks of a job as processes that MPI has started, on any number of machines. */
#include "comm/mpi.h"
#include "base/companion.h"
#include "base/environment.h"
#include "comm/transports.h"
#include "comm/waiting.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)COMM_MAX_TAG <= (int)MPI_TAG_OF_CALLS, "messages and calls share no tag");

/* -- the library that binds to MPI -- */

static Error *find_library(Arena *a, const char **out)
{
    static const char *const file = "modalities-mpi.so";
    *out = companion_path(a, environment_get("MODALITIES_MPI"), file);
    if (*out) return NULL;
    const char *folder = program_folder(a);
    return error_new("ranks that MPI has started need %s%s, or %s../lib/modalities/%s, which is "
                     "not there: it is built by `make mpi` (Debian: libopenmpi-dev openmpi-bin); "
                     "MODALITIES_MPI names another one",
                     folder, file, folder, file);
}

static Error *load_calls(Arena *a, const MpiCalls **out)
{
    const char *path;
    TRY(find_library(a, &path));
    /* global: parts of Open MPI that it loads itself expect to find it there */
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) return error_new("cannot load %s: %s", path, dlerror());
    *out = dlsym(library, MPI_CALLS_NAME);
    if (*out && (*out)->version == MPI_CALLS_VERSION) return NULL;
    return error_new("%s was built for another version of this program: make mpi", path);
}

/* -- groups -- */

static Error *mpi_group(Comm *c, const int *ranks, int n, int key, Comm **out);
static void mpi_free(Comm *c);

static void mpi_abort(Comm *c, const char *why)
{
    mpi_abort_job(mpi_of(c)->world, why);
}

static Error *mpi_ended(Comm *c, const char *op)
{
    return mpi_abort_error(mpi_of(c), op);
}

static const Comm calls = {
    .transport = "mpi",
    .layer = -1,
    .step = -1,
    .timeout = COMM_TIMEOUT,
    .all_reduce = mpi_all_reduce,
    .all_gather = mpi_all_gather,
    .reduce_scatter = mpi_reduce_scatter,
    .all_to_all = mpi_all_to_all,
    .broadcast = mpi_broadcast,
    .exchange = mpi_exchange,
    .start = mpi_start,
    .finish = mpi_finish,
    .group = mpi_group,
    .abort = mpi_abort,
    .ended = mpi_ended,
    .free = mpi_free,
};

static MpiComm *new_comm(MpiWorld *w, void *handle, int rank, int size)
{
    MpiComm *m = calloc(1, sizeof *m);
    CHECK(m != NULL);
    *m = (MpiComm){ .comm = calls, .world = w, .handle = handle };
    m->comm.rank = rank;
    m->comm.size = size;
    m->rank = calloc((size_t)size, sizeof *m->rank);
    m->counts = calloc((size_t)size, sizeof *m->counts);
    CHECK(m->rank != NULL && m->counts != NULL);
    return m;
}

static void free_comm(MpiComm *m)
{
    for (int i = 0; i < 2; i++) flight_free(&m->flight[i]);
    mpi_free_pending(m);
    buffer_free(&m->scratch);
    error_free(m->comm.error);
    free(m->rank);
    free(m->counts);
    free(m);
}

static void world_free(MpiWorld *w)
{
    mpi_watch_stop(w);
    bool is_aborted = atomic_load(&w->is_aborted);
    if (!is_aborted) w->calls->finish(); /* else it would wait for those that are gone */
    mpi_free_messages(w);
    pthread_mutex_destroy(&w->lock);
    free_comm(w->all);
    arena_free(w->arena);
}

static void mpi_free(Comm *c)
{
    MpiComm *m = mpi_of(c);
    MpiWorld *w = m->world;
    if (m == w->all) {
        world_free(w);
        return;
    }
    /* the handle stays until MPI ends: to free it is collective, and members may be gone */
    free_comm(m);
}

static Error *mpi_group(Comm *c, const int *ranks, int n, int key, Comm **out)
{
    MpiComm *m = mpi_of(c);
    MpiWorld *w = m->world;
    void *handle;
    char problem[600];
    int own = -1;
    for (int i = 0; i < n; i++) {
        CHECK(ranks[i] >= 0 && ranks[i] < c->size);
        if (ranks[i] == c->rank) own = i;
    }
    CHECK(own >= 0);
    TRY(mpi_abort_error(m, "group"));
    atomic_fetch_add(&w->n_stuck, 1);
    int status = w->calls->group(m->handle, ranks, n, key, &handle);
    atomic_fetch_sub(&w->n_stuck, 1);
    if (status) {
        w->calls->describe(status, problem, sizeof problem);
        return error_new("MPI cannot make a group of %d ranks: %s", n, problem);
    }
    MpiComm *made = new_comm(w, handle, own, n);
    made->comm.timeout = c->timeout;
    for (int i = 0; i < n; i++) made->rank[i] = m->rank[ranks[i]];
    *out = &made->comm;
    return NULL;
}

/* -- the job -- */

static Error *check_place(const Rank *r, const MpiComm *m)
{
    if (r->rank == m->comm.rank && r->world_size == m->comm.size) return NULL;
    return error_new("the launcher says that this is rank %lld of %lld, but by MPI it is rank %d "
                     "of %d: was it started by the mpirun of another MPI library than the one of "
                     "modalities-mpi.so?",
                     (long long)r->rank, (long long)r->world_size, m->comm.rank, m->comm.size);
}

Error *comm_mpi_open(const Rank *rank, Comm **out)
{
    Arena *a = arena_new();
    MpiWorld *w = NEW(a, MpiWorld);
    void *handle;
    char problem[600];
    int own, size;
    w->arena = a;
    Error *e = load_calls(a, &w->calls);
    if (!e && w->calls->start(problem, sizeof problem)) e = error_new("%s", problem);
    if (!e && w->calls->all(&handle, &own, &size))
        e = error_new("MPI cannot copy its communicator");
    if (e) {
        arena_free(a);
        return e;
    }
    w->all = new_comm(w, handle, own, size);
    w->all->comm.timeout = waiting_timeout();
    for (int r = 0; r < size; r++) w->all->rank[r] = r;
    pthread_mutex_init(&w->lock, NULL);
    e = check_place(rank, w->all);
    if (!e) e = mpi_watch_start(w);
    *out = &w->all->comm;
    if (!e) return NULL;
    free_comm(w->all); /* MPI is not ended: that would wait for the others */
    arena_free(a);
    return e;
}
