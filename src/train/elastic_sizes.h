/* elastic_sizes.h - on how many ranks a training gives the same steps. */
#ifndef TRAIN_ELASTIC_SIZES_H
#define TRAIN_ELASTIC_SIZES_H
#include "base/str.h"
#include "config/field.h"
#include "config/registry.h"

/* A job of some number of ranks; `why` is NULL where it fits. */
typedef struct ElasticSize {
    int64_t ranks, accumulation;
    const char *why;
} ElasticSize;

typedef struct ElasticSizes {
    ElasticSize *item; /* of 1 to n ranks: item[ranks - 1] */
    int64_t n, samples_per_step;
} ElasticSizes;

/* The configuration as it is counts for n ranks: what their step takes, that of fewer ranks takes,
 * too. An error where it does not fit n ranks. */
Error *elastic_sizes(Arena *a, const Registry *r, const char *config_file_path,
                     const char *experiments_root_path, StringList overrides, int64_t n,
                     ElasticSizes *out);
/* The largest job of at most so many ranks; NULL: there is none. */
const ElasticSize *elastic_largest(const ElasticSizes *s, int64_t most);
/* "4 (accumulation 1), 2 (accumulation 2); not 3: 16 samples ...". */
void elastic_describe(const ElasticSizes *s, Text *out);
#endif
