/* cuda_neighbours.c - a GPU's memory before this program uses it, as far as the driver tells: what
 * is free, and which other programs have the rest. */
#include "device/cuda/cuda.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64 };

/* What the system calls a process, if it is of this machine and may be seen. */
static void put_name(unsigned pid, CudaNeighbour *out)
{
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    FILE *f = fopen(path, "r");
    if (f && fgets(name, sizeof name, f)) name[strcspn(name, "\n")] = 0;
    if (f) fclose(f);
    snprintf(out->name, sizeof out->name, *name ? "process %u (%s)" : "process %u", pid, name);
}

static void note(CudaBefore *b, const nvmlProcessInfo *p)
{
    if (p->pid == (unsigned)getpid() || p->usedGpuMemory == ~0ULL) return;
    if (b->n_neighbours == CUDA_NEIGHBOURS) return;
    CudaNeighbour *x = &b->neighbour[b->n_neighbours++];
    put_name(p->pid, x);
    x->bytes = p->usedGpuMemory;
}

static void look(const CudaCalls *c, const struct cudaDeviceProp *f, CudaBefore *b)
{
    nvmlProcessInfo found[MOST];
    nvmlMemory memory;
    nvmlDevice_t device;
    unsigned n = MOST;
    char bus[32];
    if (!c->nvmlInit_v2 || c->nvmlInit_v2()) return;
    snprintf(bus, sizeof bus, "%08x:%02x:%02x.0", (unsigned)f->pciDomainID, (unsigned)f->pciBusID,
             (unsigned)f->pciDeviceID);
    const bool is_known = !c->nvmlDeviceGetHandleByPciBusId_v2(bus, &device);
    if (is_known && !c->nvmlDeviceGetComputeRunningProcesses_v3(device, &n, found))
        for (unsigned i = 0; i < n && i < MOST; i++) note(b, &found[i]);
    if (is_known && !c->nvmlDeviceGetMemoryInfo(device, &memory)) b->free_bytes = memory.free;
    c->nvmlShutdown();
}

const CudaBefore *cuda_before(const CudaCalls *c, int number, const struct cudaDeviceProp *facts)
{
    static CudaBefore seen[MAX_GPUS];
    static bool is_seen[MAX_GPUS];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    CHECK(number >= 0 && number < MAX_GPUS);
    pthread_mutex_lock(&lock);
    if (!is_seen[number]) look(c, facts, &seen[number]);
    is_seen[number] = true;
    pthread_mutex_unlock(&lock);
    return &seen[number];
}
