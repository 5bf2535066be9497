/* data_rewriting.c - what the commands share that write data in another order. */
#include "data_rewriting.h"
#include "base/log.h"
#include "base/str.h"
#include <string.h>

Error *prepare_output(Arena *a, const char *const *input, int64_t n, const char *output, int policy,
                      bool *write)
{
    const char *absolute = path_absolute(a, output);
    for (int64_t i = 0; i < n; i++)
        if (!strcmp(path_absolute(a, input[i]), absolute))
            return error_new("Input and output file paths must be different. (%s)", output);
    TRY(existing_file(output, (ExistingPolicy)policy, write));
    return *write ? make_directories(path_folder(a, output)) : NULL;
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
