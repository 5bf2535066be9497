/* cuda_neighbours.c - other programs that use a GPU's memory, as far as the driver tells. */
#include "device/cuda/cuda.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64 };

/* What the system calls a process, if it is of this machine and may be seen. */
static const char *name_of(Arena *a, unsigned pid)
{
    char name[64] = "";
    FILE *f = fopen(arena_printf(a, "/proc/%u/comm", pid), "r");
    if (f && fgets(name, sizeof name, f)) name[strcspn(name, "\n")] = 0;
    if (f) fclose(f);
    return arena_printf(a, *name ? "process %u (%s)" : "process %u", pid, name);
}

static void note(Cuda *d, const nvmlProcessInfo *p)
{
    if (p->pid == (unsigned)getpid() || p->usedGpuMemory == ~0ULL) return;
    if (d->n_neighbours == CUDA_NEIGHBOURS) return;
    d->neighbour[d->n_neighbours++] =
        (CudaNeighbour){ .name = name_of(d->arena, p->pid), .bytes = p->usedGpuMemory };
}

/* Must come before this program takes memory: in a container it may not know itself by number. */
void cuda_find_neighbours(Cuda *d)
{
    const CudaCalls *c = d->calls;
    const struct cudaDeviceProp *f = &d->facts;
    nvmlProcessInfo found[MOST];
    nvmlDevice_t device;
    unsigned n = MOST;
    if (!c->nvmlInit_v2 || c->nvmlInit_v2()) return;
    const char *bus = arena_printf(d->arena, "%08x:%02x:%02x.0", (unsigned)f->pciDomainID,
                                   (unsigned)f->pciBusID, (unsigned)f->pciDeviceID);
    if (!c->nvmlDeviceGetHandleByPciBusId_v2(bus, &device) &&
        !c->nvmlDeviceGetComputeRunningProcesses_v3(device, &n, found))
        for (unsigned i = 0; i < n && i < MOST; i++) note(d, &found[i]);
    c->nvmlShutdown();
}
