/* adapter_names.c - from a weight to its adapters. */
#include "models/adapter_names.h"
#include <string.h>

const char *adapter_name(Arena *a, const char *weight, const char *which)
{
    const char *dot = strrchr(weight, '.');
    const size_t n = dot ? (size_t)(dot - weight) : strlen(weight);
    return arena_printf(a, "%.*s.%s.weight", (int)n, weight, which);
}

bool parameter_is_adapter(const char *name)
{
    return strstr(name, "." ADAPTER_A ".") || strstr(name, "." ADAPTER_B ".");
}

bool parameter_has_adapters(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && !strcmp(dot, ".weight") && !parameter_is_adapter(name);
}

const char *adapted_weight(Arena *a, const char *name)
{
    static const char *const parts[] = { "." ADAPTER_A ".", "." ADAPTER_B "." };
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(name, parts[i]);
        if (at) return arena_printf(a, "%.*s%s", (int)(at - name), name, at + strlen(parts[i]) - 1);
    }
    return name;
}
