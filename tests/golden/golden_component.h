/* golden_component.h - builds the component that a golden's json file describes. */
#ifndef TESTS_GOLDEN_COMPONENT_H
#define TESTS_GOLDEN_COMPONENT_H
#include "test.h"
#include <jansson.h>

/* A file of goldens/models, "optimizers/adam_0.json"; the caller releases it with json_decref. */
json_t *golden_json(Arena *a, const char *file);
/* The component with the component_key, variant_key and config of `description`. Settings that the
 * golden leaves out come from `more` (inside of a YAML flow mapping), where the model of
 * `model_case` ("gpt2_12_swiglu_rope10000_gqa") stands under the key model_raw. */
void *golden_component(Arena *a, const json_t *description, const char *model_case,
                       const char *more);
#endif
