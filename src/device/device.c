/* device.c - the device to use, and what any device can do with its own functions. */
#include "device/device.h"
#include "base/environment.h"
#include "base/error.h"
#include "device/cuda_library.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_gpu(const char *name, int *number)
{
    if (strncmp(name, "cuda", 4)) return false;
    if (!name[4]) return true;
    if (name[4] != ':' || !name[5] || name[5 + strspn(name + 5, "0123456789")]) return false;
    *number = strlen(name) < 12 ? atoi(name + 5) : MAX_GPUS;
    return true;
}

Error *device_open(const char *name, int local_rank, int n_threads, Device **out)
{
    const char *asked = name ? name : environment_get("MODALITIES_DEVICE");
    int number = local_rank;
    if (!asked || !strcmp(asked, "cpu")) {
        *out = cpu_device_new(n_threads);
        return NULL;
    }
    if (!name && !strcmp(asked, "fenced")) {
        *out = fenced_device_new(n_threads);
        return NULL;
    }
    if (is_gpu(asked, &number))
        return error_wrap(gpu_open(number, n_threads, out), "%s %s",
                          name ? "--device" : "MODALITIES_DEVICE", asked);
    if (name) return error_usage("--device %s: allowed are cpu, cuda and cuda:N", name);
    return error_usage("MODALITIES_DEVICE is \"%s\": allowed are cpu, cuda, cuda:N and fenced",
                       asked);
}

Error *device_check(const char *name)
{
    int number = 0;
    if (!strcmp(name, "cpu")) return NULL;
    if (!is_gpu(name, &number))
        return error_usage("--device %s: allowed are cpu, cuda and cuda:N", name);
    return error_wrap(gpu_check(number), "--device %s", name);
}

/* Looking for GPUs opens large libraries, so only where a driver or a library was put. */
static bool may_have_gpus(void)
{
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

const char *device_choose(const char *asked, int64_t n_ranks)
{
    if (asked || n_ranks > 1 || environment_get("MODALITIES_DEVICE") || !may_have_gpus())
        return asked;
    Error *e = gpu_check(0);
    const char *found = e ? NULL : "cuda";
    error_free(e);
    return found;
}

Error *device_new(int n_threads, Device **out)
{
    return device_open(NULL, 0, n_threads, out);
}

Error *device_host_alloc(Device *d, size_t bytes, void **out)
{
    enum { ALIGNED = 64 };
    if (d->host_alloc) return d->host_alloc(d, bytes, out);
    const size_t whole = bytes / ALIGNED * ALIGNED + ALIGNED;
    *out = aligned_alloc(ALIGNED, whole);
    if (!*out) return error_new("no %zu bytes of host memory", bytes);
    memset(*out, 0, whole);
    return NULL;
}

void device_host_release(Device *d, void *p)
{
    if (p && d->host_release)
        d->host_release(d, p);
    else
        free(p);
}

Error *device_copy_now(Device *d, void *to, const void *from, size_t bytes, Stream *s)
{
    TRY(d->copy(d, to, from, bytes, s));
    return d->synchronize(d, s);
}
