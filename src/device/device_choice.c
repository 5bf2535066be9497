/* device_choice.c - the setting `device` of several components and commands. */
#include "device/device_choice.h"
#include <string.h>

const Field device_choice_fields[] = {
    FIELD_INT(DeviceChoice, number, NULL, 0, INFINITY, "number of a GPU", .flags = FIELD_STRICT),
    FIELD_STRING(DeviceChoice, name, NULL, "cpu, cuda or cuda:N"),
    { 0 },
};

bool device_choice_is_cuda(const DeviceChoice *d)
{
    return d->which == 0 || strcmp(d->name, "cpu");
}

Error *device_choice_check(const DeviceChoice *d)
{
    if (d->which == 0 || !strcmp(d->name, "cpu") || !strcmp(d->name, "cuda")) return NULL;
    if (!strncmp(d->name, "cuda:", 5) && d->name[5] &&
        !d->name[5 + strspn(d->name + 5, "0123456789")])
        return NULL;
    return error_new("device \"%s\": allowed are cpu, cuda, cuda:N, or the number of a GPU",
                     d->name);
}
