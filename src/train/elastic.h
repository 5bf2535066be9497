/* elastic.h - a job of processes that is started again on those that are left. */
#ifndef TRAIN_ELASTIC_H
#define TRAIN_ELASTIC_H
#include "train/elastic_sizes.h"

typedef struct ElasticJob {
    const Registry *registry;
    const char *program; /* of each rank */
    const char *config_file_path, *experiments_root_path, *experiment_id;
    const char *hostfile;       /* "host slots=N" per line; NULL: this machine */
    StringList overrides, more; /* of --set; further words of `run` */
    int64_t n_ranks;            /* at most */
} ElasticJob;

/* Starts the ranks under mpirun, and again from the last checkpoint when one of them has died,
 * until the training is done. Signals go on to the ranks; then the error is that of a training that
 * was stopped. */
Error *elastic_run(Arena *a, const ElasticJob *job);
#endif
