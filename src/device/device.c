/* device.c - the device to use, and what any device can do with its own functions. */
#include "device/device.h"
#include "base/environment.h"
#include "base/error.h"
#include <string.h>

Error *device_new(int n_threads, Device **out)
{
    const char *name = environment_get("MODALITIES_DEVICE");
    if (name && strcmp(name, "cpu") && strcmp(name, "fenced"))
        return error_usage("MODALITIES_DEVICE is \"%s\": allowed are cpu and fenced", name);
    *out =
        name && !strcmp(name, "fenced") ? fenced_device_new(n_threads) : cpu_device_new(n_threads);
    return NULL;
}

Error *device_copy_now(Device *d, void *to, const void *from, size_t bytes, Stream *s)
{
    TRY(d->copy(d, to, from, bytes, s));
    return d->synchronize(d, s);
}
