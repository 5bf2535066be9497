/* cuda_library.c - opens the library that brings GPUs, which lies beside the program. */
#include "device/cuda_library.h"
#include "base/companion.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/thread.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static Error *find_path(Arena *a, const char **out)
{
    static const char *const file = "modalities-cuda.so";
    *out = companion_path(a, environment_get("MODALITIES_CUDA"), file);
    if (*out) return NULL;
    return error_new("this build has no CUDA backend: %s%s is not there (`make cuda` makes it; "
                     "MODALITIES_CUDA names another one)",
                     program_folder(a), file);
}

static Error *load(const CudaLibrary **out)
{
    Arena *a = arena_new();
    const char *path;
    Error *e = find_path(a, &path);
    void *library = e ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!e && !library) e = error_new("cannot load %s: %s", path, dlerror());
    const CudaLibrary *found = library ? dlsym(library, CUDA_LIBRARY_NAME) : NULL;
    const bool fits = found && found->version == CUDA_LIBRARY_VERSION &&
                      found->device_bytes == sizeof(Device) &&
                      found->launch_bytes == sizeof(Launch);
    if (!e && !fits)
        e = error_new("%s was built for another version of this program: make cuda", path);
    arena_free(a);
    *out = found;
    return e;
}

static void report(bool is_full, GpuReport *out)
{
    const CudaLibrary *library;
    *out = (GpuReport){ .is_full = is_full };
    Error *e = load(&library);
    if (!e) library->report(out);
    if (e) snprintf(out->problem, sizeof out->problem, "%s", error_text(e));
    error_free(e);
}

void gpu_report(GpuReport *out)
{
    report(true, out);
}

Error *gpu_check(int number)
{
    GpuReport r;
    report(false, &r);
    if (*r.problem) return error_new("%s", r.problem);
    if (number >= r.n)
        return error_usage("there %s %d GPU%s, the first of which is number 0",
                           r.n == 1 ? "is" : "are", r.n, r.n == 1 ? "" : "s");
    const Gpu *g = &r.gpu[number];
    return *g->problem ? error_new("%s cannot be used: %s", g->name, g->problem) : NULL;
}

static _Thread_local GpuFreedom allowed; /* each rank says it for the device that it opens */

void gpu_allow(const GpuFreedom *freedom)
{
    allowed = *freedom;
}

static void tell(const char *text)
{
    log_info("%s", text);
}

/* Where algorithms of products are kept for later runs; NULL: nowhere. */
static const char *cache_path(Arena *a)
{
    const char *set = environment_get("MODALITIES_CUDA_CACHE"),
               *caches = environment_get("XDG_CACHE_HOME"), *home = environment_get("HOME");
    const char *folder = NULL;
    if (set && *set)
        folder = strcmp(set, "off") != 0 ? set : NULL;
    else if (caches && *caches)
        folder = path_join(a, caches, "modalities");
    else if (home && *home)
        folder = path_join(a, home, ".cache/modalities");
    return folder ? path_join(a, folder, "gpu_algorithms.txt") : NULL;
}

Error *gpu_open(int number, int n_threads, Device **out)
{
    const CudaLibrary *library;
    TRY(load(&library));
    Pool *pool = pool_new(n_threads);
    Arena *a = arena_new();
    GpuFreedom freedom = allowed;
    freedom.cache = cache_path(a);
    freedom.tell = tell;
    Error *e = library->open(number, &freedom, pool, pool_free, out);
    arena_free(a);
    if (e) pool_free(pool);
    return e;
}
