/* sharing.h - data commands whose work several ranks share: under mpirun or srun each does its part
 * of the input, and rank 0 puts the parts together. */
#ifndef CLI_SHARING_H
#define CLI_SHARING_H
#include "data/share.h"
#include "train/crew.h"

/* For `details` of a Command. */
#define SHARING_DETAILS                                                                            \
    " Under mpirun or srun the ranks share the work, over a file system that all of them see: "    \
    "each "                                                                                        \
    "does its part, rank 0 puts them together, and the bytes are those of one process."

/* Runs `work` as each rank of this process. */
Error *sharing_run(Arena *a, const void *options,
                   Error *(*work)(Arena *a, const void *options, const Crew *crew));
Share sharing_of(const Crew *crew);

/* An output that ranks make in parts. */
typedef struct SharedOutput {
    const char *path;
    const char *key; /* tells the work apart: finished parts of the same one are used again */
    void *context;
    /* Makes this rank's part at `path`, or all of it where there is one rank; *made: there is
     * something in it. */
    Error *(*make)(void *context, const char *path, Share share, bool *made);
    /* Rank 0 puts the parts that there are together. */
    Error *(*join)(void *context, const char *const *part, int64_t n, const char *path);
} SharedOutput;

/* Every rank calls it; on an error finished parts stay, and the next run of the same work goes on
 * with them. */
Error *sharing_make(Arena *a, const Crew *crew, const SharedOutput *o);
/* Of a text that says what the work is. */
const char *sharing_key(Arena *a, const char *identity);
#endif
