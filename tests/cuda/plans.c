/* plans.c - whether cuDNN has a kernel for every shape of attention that the program gives it, on
 * GPUs that are only described: an H200, which is the default.
 *
 * Runs beside a stand-in for the driver (described_gpu.c). Nothing is computed; what the graphs
 * mean is checked on the mock. */
#include "ops/attention_graph_cuda.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sequences, groups of heads, heads of each, tokens, width of a head; window, documents and whether
 * there is no causal mask. */
typedef struct Case {
    int64_t n_batch, n_groups, n_repeat, n_tokens, d, window;
    bool documents, both_ways;
} Case;

static const Case cases[] = {
    { 64, 12, 1, 1024, 64, 0, false, false },  /* GPT-2 124M */
    { 4, 8, 4, 4096, 64, 0, false, false },    /* Llama 1B */
    { 1, 8, 4, 8192, 128, 0, false, false },   /* Llama 8B */
    { 2, 4, 4, 2048, 96, 0, false, false },    /* other widths of heads */
    { 2, 4, 4, 2048, 256, 0, false, false },   /**/
    { 2, 4, 4, 2048, 128, 512, false, false }, /* a window */
    { 2, 4, 4, 2048, 64, 0, true, false },     /* documents */
    { 1, 8, 4, 8192, 128, 0, true, false },    /**/
    { 1, 4, 4, 2048, 128, 1024, true, false }, /* both */
    { 2, 16, 1, 1024, 192, 0, true, false },   /**/
    { 2, 12, 1, 197, 64, 0, false, true },     /* both ways, as in images */
    { 3, 2, 2, 70, 64, 0, false, false },      /* what fills no tile */
};

/* What nvidia-smi and the properties of a GPU tell of it. */
static const char h200[] =
    "{\"deviceVer\": 900, \"maxGridSize\": [2147483647, 65535, 65535], \"maxBlockSize\": [1024, "
    "1024, "
    "64], \"regsPerBlock\": 65536, \"multiProcessorCount\": 132, \"smClockRateKHz\": 1980000, "
    "\"memClockRateKHz\": 3201000, \"l2CacheSize\": 62914560, \"warpSize\": 32, "
    "\"maxSharedMemoryPerBlock\": 49152, \"maxSharedMemoryPerBlockOptin\": 232448, "
    "\"reservedSharedMemoryPerBlock\": 1024, \"maxRegistersPerSM\": 65536, \"pciDeviceId\": 0, "
    "\"maxCtasPerSM\": 32, \"maxThreadsPerBlock\": 1024, \"maxThreadsPerSM\": 2048, "
    "\"isTccDriver\": 0, "
    "\"supportCoopLaunch\": 1, \"totalGlobalMem\": 150754820096, \"driverVer\": 13000, "
    "\"cudaDeviceId\": 0, \"deviceName\": \"NVIDIA H200\"}";

/* The default is in a fixed order; `any` is what settings.determinism off allows. */
typedef enum Kind { FORWARD_PASS, GRADIENT, GRADIENT_ANY_ORDER, N_KINDS } Kind;
static const char *const kind_name[] = { "forward", "gradient", "gradient in any order" };

static AttentionShape shape_of(const Case *c, Kind kind)
{
    AttentionShape s;
    memset(&s, 0, sizeof s);
    s.n_batch = c->n_batch;
    s.n_groups = s.all_groups = c->n_groups;
    s.n_repeat = c->n_repeat;
    s.n_tokens = c->n_tokens;
    s.d = c->d;
    s.window = c->window;
    s.documents = c->documents;
    s.causal = !c->both_ways;
    s.type = CUDNN_DATA_BFLOAT16;
    s.backward = kind != FORWARD_PASS;
    s.any_order = kind == GRADIENT_ANY_ORDER;
    attention_shape_fit(&s, (int64_t)1 << 30);
    return s;
}

/* NULL, or what is wrong. */
static const char *check(const CudnnTarget *target, const AttentionShape *s, Arena *a)
{
    enum { MOST_WORKSPACE = 1300 << 20 };
    AttentionGraph g;
    const char *(*kernel)(void);
    *(void **)&kernel = dlsym(RTLD_DEFAULT, "described_gpu_kernel");
    const cudnnStatus_t status = attention_graph_make(target, a, s, &g);
    if (status) return target->calls->cudnnGetErrorString(status);
    if (g.plan.workspace_bytes > MOST_WORKSPACE)
        return arena_printf(a, "its workspace is %zu MiB", g.plan.workspace_bytes >> 20);
    if (!kernel || !strstr(kernel(), "sm90") || !strstr(kernel(), "wgmma"))
        return arena_printf(a, "the kernel is not for this GPU: %s", kernel ? kernel() : "none");
    return NULL;
}

static int open_libraries(CudaCalls *c)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL),
         *library = driver ? dlopen("libcudnn.so.9", RTLD_NOW) : NULL;
    if (!library) return fprintf(stderr, "plans: %s\n", dlerror());
#define FIND(name) *(void **)&c->name = dlsym(library, #name);
    CUDNN_CALLS(FIND)
    return 0;
}

int main(void)
{
    CudaCalls calls = { 0 };
    CudnnTarget target = { .calls = &calls };
    int n = 0, n_wrong = 0;
    if (open_libraries(&calls)) return 1;
    if (cudnn_describe(&calls, h200, &target.described)) {
        fprintf(stderr, "plans: cuDNN does not take the description of the GPU\n");
        return 1;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (Kind kind = 0; kind < N_KINDS; kind++) {
            const AttentionShape s = shape_of(&cases[i], kind);
            Arena *a = arena_new();
            const char *problem = check(&target, &s, a);
            if (problem) printf("attention %zu, %s: %s\n", i, kind_name[kind], problem);
            n_wrong += problem != NULL;
            n++;
            arena_free(a);
        }
    printf("%d plans of cuDNN %zu for a described H200, %d missing\n", n, calls.cudnnGetVersion(),
           n_wrong);
    return n_wrong != 0;
}
