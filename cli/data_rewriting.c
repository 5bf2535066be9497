/* data_rewriting.c - what the commands share that write data in another order. */
#include "data_rewriting.h"
#include "base/log.h"
#include "base/str.h"
#include "data/resumable.h"
#include "data/shuffle.h"
#include <stdlib.h>

Error *prepare_output(Arena *a, const char *output, int policy, bool *write)
{
    TRY(existing_file(output, (ExistingPolicy)policy, write));
    return *write ? make_directories(path_folder(a, output)) : NULL;
}

bool find_drawn_seed(Arena *a, const char *output, int64_t *seed)
{
    const char *recorded = resumable_recorded(a, output, "seed");
    if (recorded) *seed = atoll(recorded);
    if (recorded) log_info("%s: the seed of an interrupted run is used again", output);
    return recorded;
}

int64_t draw_seed(const char *option)
{
    int64_t seed = random_seed();
    log_info("%s %lld was drawn; it repeats this order", option, (long long)seed);
    return seed;
}

void tell_rewritten(const char *path, int64_t n, const char *what, int64_t n_bytes, double start)
{
    char bytes[32], rate[32], seconds[32];
    double took = clock_seconds() - start;
    format_bytes((double)n_bytes, bytes);
    format_bytes((double)n_bytes / took, rate);
    format_seconds(took, seconds);
    log_info("%s: %lld %s (%s in %s, %s/s)", path, (long long)n, what, bytes, seconds, rate);
}
