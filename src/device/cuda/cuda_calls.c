/* cuda_calls.c - finds CUDA's libraries and fills the table of their calls. */
#include "device/cuda/cuda_calls.h"
#include "base/environment.h"
#include "base/str.h"
#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Where libraries of NVIDIA's Python packages lie, below a folder of packages. */
static const char *const package_folders[] = { "nvidia/cu13/lib", "nvidia/cuda_runtime/lib",
                                               "nvidia/cublas/lib", "nvidia/cudnn/lib",
                                               "nvidia/nccl/lib" };
static const char *const python_folders[] = {
    "/usr/lib/python3*/site-packages",       "/usr/lib/python3/dist-packages",
    "/usr/local/lib/python3*/site-packages", "/usr/local/lib/python3*/dist-packages",
    "/opt/*/lib/python3*/site-packages",     "/opt/*/.venv/lib/python3*/site-packages",
};

static void *open_at(Arena *a, const char *folder, const char *soname)
{
    return dlopen(folder ? arena_printf(a, "%s/%s", folder, soname) : soname,
                  RTLD_NOW | RTLD_LOCAL);
}

static void *open_listed(Arena *a, const char *folders, const char *soname)
{
    void *library = NULL;
    for (Str rest = str_of(folders ? folders : ""); !library && rest.len;) {
        size_t n = strcspn(rest.ptr, ":");
        if (n) library = open_at(a, arena_string_n(a, rest.ptr, n), soname);
        n += rest.ptr[n] == ':';
        rest = (Str){ rest.ptr + n, rest.len - n };
    }
    return library;
}

static void *open_in_packages(Arena *a, const char *root, const char *soname)
{
    void *library = NULL;
    for (size_t k = 0; !library && k < sizeof package_folders / sizeof *package_folders; k++) {
        glob_t found = { 0 };
        if (!glob(arena_printf(a, "%s/%s", root, package_folders[k]), 0, NULL, &found))
            for (size_t i = 0; !library && i < found.gl_pathc; i++)
                library = open_at(a, found.gl_pathv[i], soname);
        globfree(&found);
    }
    return library;
}

/* Of the Pythons that commands are looked for among. */
static void *open_beside_commands(Arena *a, const char *soname)
{
    void *library = NULL;
    const char *path = environment_get("PATH");
    for (Str rest = str_of(path ? path : ""); !library && rest.len;) {
        size_t n = strcspn(rest.ptr, ":");
        if (n)
            library = open_in_packages(
                a, arena_printf(a, "%.*s/../lib/python3*/site-packages", (int)n, rest.ptr), soname);
        n += rest.ptr[n] == ':';
        rest = (Str){ rest.ptr + n, rest.len - n };
    }
    return library;
}

/* The folder that `make dependencies DEPS=cuda` fills, beside this library. */
static const char *toolkit_beside(Arena *a)
{
    Dl_info own;
    const char *path = dladdr((void *)toolkit_beside, &own) ? own.dli_fname : "",
               *end = strrchr(path, '/');
    return arena_printf(a, "%.*scuda/lib64", end ? (int)(end + 1 - path) : 0, path);
}

static Error *open_library(Arena *a, const char *soname, void **out)
{
    const char *home = environment_get("CUDA_HOME"), *environment = environment_get("VIRTUAL_ENV");
    *out = open_listed(a, environment_get("MODALITIES_CUDA_PATH"), soname);
    if (!*out) *out = open_at(a, NULL, soname);
    const char *why = *out ? "" : arena_string(a, dlerror());
    if (!*out && home) *out = open_at(a, arena_printf(a, "%s/lib64", home), soname);
    if (!*out) *out = open_at(a, toolkit_beside(a), soname);
    if (!*out) *out = open_at(a, "/usr/local/cuda/lib64", soname);
    if (!*out && environment)
        *out = open_in_packages(a, arena_printf(a, "%s/lib/python3*/site-packages", environment),
                                soname);
    if (!*out) *out = open_beside_commands(a, soname);
    for (size_t i = 0; !*out && i < sizeof python_folders / sizeof *python_folders; i++)
        *out = open_in_packages(a, python_folders[i], soname);
    if (*out) return NULL;
    return error_new("cannot load %s (%s); looked in MODALITIES_CUDA_PATH, LD_LIBRARY_PATH, "
                     "CUDA_HOME/lib64, cuda/lib64 beside this program, /usr/local/cuda/lib64 and "
                     "Python's packages nvidia-*",
                     soname, why);
}

static Error *find(void *library, const char *soname, const char *name, void *out)
{
    void *found = dlsym(library, name);
    if (!found) return error_new("%s has no %s: it is of another version", soname, name);
    *(void **)out = found;
    return NULL;
}

/* Without cuDNN, or with one that lacks a call, the program's own kernels do its work. */
static void fill_cudnn(Arena *a, CudaCalls *c)
{
    static const char *const cudnn = "libcudnn.so.9";
    CudaCalls found = *c;
    void *library;
    /* cuDNN makes kernels with it, and does not look for it where it lies itself. */
    error_free(open_library(a, "libnvrtc.so.13", &library));
    Error *e = open_library(a, cudnn, &library);
#define FIND_CUDNN(name)                                                                           \
    if (!e) e = find(library, cudnn, #name, &found.name);
    CUDNN_CALLS(FIND_CUDNN)
    if (!e) *c = found;
    error_free(e);
}

/* It comes with the driver, so it is where the system looks. */
static void fill_nvml(CudaCalls *c)
{
    static const char *const nvml = "libnvidia-ml.so.1";
    CudaCalls found = *c;
    void *library = dlopen(nvml, RTLD_NOW | RTLD_LOCAL);
    Error *e = NULL;
    if (!library) return;
#define FIND_NVML(name)                                                                            \
    if (!e) e = find(library, nvml, #name, &found.name);
    NVML_CALLS(FIND_NVML)
    if (!e) *c = found;
    error_free(e);
}

static Error *fill(Arena *a, CudaCalls *c)
{
    static const char *const runtime = "libcudart.so.13", *const products = "libcublasLt.so.13";
    void *library;
#define FIND_RUNTIME(name) TRY(find(library, runtime, #name, &c->name));
#define FIND_PRODUCTS(name) TRY(find(library, products, #name, &c->name));
    TRY(open_library(a, runtime, &library));
    CUDA_RUNTIME_CALLS(FIND_RUNTIME)
    TRY(open_library(a, products, &library));
    CUBLASLT_CALLS(FIND_PRODUCTS)
    fill_cudnn(a, c);
    fill_nvml(c);
    return NULL;
}

static Error *fill_nccl(Arena *a, CudaCalls *c)
{
    static const char *const nccl = "libnccl.so.2";
    void *library;
#define FIND_NCCL(name) TRY(find(library, nccl, #name, &c->name));
    TRY(open_library(a, nccl, &library));
    /* The sums of a ring have one order for these ranks and GPUs; those of trees and switches have
     * not the same in every run. */
    setenv("NCCL_ALGO", "Ring", 0);
    NCCL_CALLS(FIND_NCCL)
    return NULL;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CudaCalls calls; /* of the process; filled once */
static bool is_filled, has_nccl;

static Error *get(bool *is_there, Error *(*fill_it)(Arena *a, CudaCalls *c), const CudaCalls **out)
{
    Arena *a = arena_new();
    pthread_mutex_lock(&lock);
    Error *e = *is_there ? NULL : fill_it(a, &calls);
    *is_there = !e;
    pthread_mutex_unlock(&lock);
    arena_free(a);
    *out = &calls;
    return e;
}

Error *cuda_calls_get(const CudaCalls **out)
{
    return get(&is_filled, fill, out);
}

Error *nccl_calls_get(const CudaCalls **out)
{
    return get(&has_nccl, fill_nccl, out);
}
