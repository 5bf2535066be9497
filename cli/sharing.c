/* sharing.c - one output in parts: made by all ranks, put together by rank 0. */
#include "sharing.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sha256.h"
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

Error *sharing_run(Arena *a, const void *options,
                   Error *(*work)(Arena *a, const void *options, const Crew *crew))
{
    Rank rank;
    TRY(rank_of_process(&rank));
    /* whoever is not under mpirun or srun does all of it, as always */
    if (rank.launcher != LAUNCHER_MPI || rank.world_size == 1) {
        const Crew alone = { .rank = &rank_alone };
        return work(a, options, &alone);
    }
    const CrewSettings crew = { .process = &rank, .work = work, .context = options };
    return crew_run(a, &crew);
}

Share sharing_of(const Crew *crew)
{
    return (Share){ crew->rank->rank, crew->rank->world_size };
}

const char *sharing_key(Arena *a, const char *identity)
{
    char hex[65];
    sha256_hex(identity, strlen(identity), hex);
    return arena_string_n(a, hex, 16);
}

static const char *part_path(Arena *a, const SharedOutput *o, int64_t rank, int64_t n)
{
    return arena_printf(a, "%s.part_%" PRId64 "_of_%" PRId64 "_%s", o->path, rank, n, o->key);
}

/* Those of this work, and what was left of others of the same output. */
static Error *remove_parts(Arena *a, const char *path)
{
    glob_t found;
    Error *e = NULL;
    Text pattern = { 0 };
    for (const char *p = path; *p; p++) {
        if (strchr("*?[\\", *p)) text_putc(&pattern, '\\');
        text_putc(&pattern, *p);
    }
    text_puts(&pattern, ".part_*_of_*");
    if (!glob(pattern.ptr, 0, NULL, &found)) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            e = error_join(e, remove_tree(found.gl_pathv[i]));
        globfree(&found);
    }
    text_free(&pattern);
    (void)a;
    return e;
}

static Error *join(Arena *a, const SharedOutput *o, const double *is_made, int64_t n)
{
    const char **part = NEW_N(a, const char *, n);
    int64_t n_parts = 0;
    for (int64_t r = 0; r < n; r++)
        if (is_made[r] > 0) part[n_parts++] = part_path(a, o, r, n);
    TRY(o->join(o->context, part, n_parts, o->path));
    return remove_parts(a, o->path);
}

Error *sharing_make(Arena *a, const Crew *crew, const SharedOutput *o)
{
    const Share share = sharing_of(crew);
    bool made = true;
    if (share.n <= 1) return o->make(o->context, o->path, share, &made);
    double *is_made = NEW_N(a, double, share.n);
    const char *path = part_path(a, o, share.rank, share.n);
    Error *e = file_exists(path) ? NULL : o->make(o->context, path, share, &made);
    is_made[share.rank] = made;
    TRY(consensus_reach(crew->consensus, e, is_made, (int)share.n));
    if (consensus_leads(crew->consensus)) e = join(a, o, is_made, share.n);
    return consensus_error(crew->consensus, e);
}
