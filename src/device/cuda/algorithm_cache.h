/* algorithm_cache.h - algorithms of products that earlier runs of this user have found, in one file
 * for all runs, processes and GPUs. */
#ifndef DEVICE_CUDA_ALGORITHM_CACHE_H
#define DEVICE_CUDA_ALGORITHM_CACHE_H
#include "base/arena.h"
#include <stdbool.h>

/* FIRST: what the library's heuristic puts first, always the same. TRIED: the quickest of a few
 * when it was tried, which another run might have chosen otherwise. */
typedef enum AlgorithmOrigin { ALGORITHM_FIRST, ALGORITHM_TRIED } AlgorithmOrigin;

typedef struct AlgorithmCache AlgorithmCache;

/* Reads the file, if there is one. Of one that is damaged or not of this kind `tell` is told, and
 * nothing is taken. The memory is the arena's. */
AlgorithmCache *algorithm_cache_open(Arena *a, const char *path, void (*tell)(const char *text));
bool algorithm_cache_find(const AlgorithmCache *c, AlgorithmOrigin o, const char *key, void *out,
                          size_t bytes);
/* Keeps an algorithm; from time to time what is new is saved. */
void algorithm_cache_add(AlgorithmCache *c, AlgorithmOrigin o, const char *key, const void *data,
                         size_t bytes);
/* The file becomes what it has by now and what is new here, in one step; where it cannot be
 * written, `tell` is told. */
void algorithm_cache_save(AlgorithmCache *c);
#endif
