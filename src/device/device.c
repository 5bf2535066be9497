/* device.c - what can be done on any device with its own functions. */
#include "device/device.h"
#include "base/error.h"

Error *device_copy_now(Device *d, void *to, const void *from, size_t bytes, Stream *s)
{
    TRY(d->copy(d, to, from, bytes, s));
    return d->synchronize(d, s);
}
