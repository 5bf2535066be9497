/* adapter_names.h - names of low-rank adapters: "h.0.mlp.W.weight" has "h.0.mlp.W.lora_A.weight"
 * [rank inputs] and "h.0.mlp.W.lora_B.weight" [outputs rank], as peft calls them. */
#ifndef MODELS_ADAPTER_NAMES_H
#define MODELS_ADAPTER_NAMES_H
#include "base/arena.h"
#include <stdbool.h>

#define ADAPTER_A "lora_A"
#define ADAPTER_B "lora_B"

const char *adapter_name(Arena *a, const char *weight, const char *which);
bool parameter_is_adapter(const char *name);
/* Whether it may have some: a weight, and not the bias beside it. */
bool parameter_has_adapters(const char *name);
/* The weight that an adapter is for; of another parameter `name` itself. */
const char *adapted_weight(Arena *a, const char *name);
#endif
