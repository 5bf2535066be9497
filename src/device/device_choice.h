/* device_choice.h - where a configuration wants to compute: cpu, cuda, cuda:1, or the number of a
 * GPU.
 */
#ifndef DEVICE_DEVICE_CHOICE_H
#define DEVICE_DEVICE_CHOICE_H
#include "config/field.h"

typedef struct DeviceChoice {
    int which; /* 0: number, 1: name */
    int64_t number;
    const char *name;
} DeviceChoice;

/* The alternatives of a FIELD_UNION. */
extern const Field device_choice_fields[];
/* Refuses a name of another form. */
Error *device_choice_check(const DeviceChoice *d);
bool device_choice_is_cuda(const DeviceChoice *d);
#endif
