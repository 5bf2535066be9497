/* field_scalar.h - reading single values; inside of the field tables' reader. */
#ifndef CONFIG_FIELD_SCALAR_H
#define CONFIG_FIELD_SCALAR_H
#include "config/field_read.h"

/* How well a value fits an alternative of a union: more is better, keys first. */
enum { CONVERTED, WIDENED, EXACT };
typedef struct Fit {
    int64_t n_keys;
    int exactness; /* of the value that fits least */
} Fit;

void fit_converted(Fit *fit, int exactness);
/* Records "VALUE; allowed: ..."; says where an interpolated value came from. */
void field_refuse(FieldReader *r, const Field *f, const Yaml *y, const char *code);
/* Reads a value that is not null into the member `to` of a bool, int, float, string, path or
 * choice. */
void scalar_fill(FieldReader *r, const Field *f, const Yaml *y, void *to, Fit *fit);
#endif
