/* mfu.c - mfu_calculator.gpt2: FLOPs per token, peaks of devices, and their ratio. */
#include "monitor/mfu.h"
#include "config/builder.h"
#include <string.h>

typedef struct Peak {
    const char *name;
    double flops;
} Peak;

/* Data sheets, dense, 16-bit inputs with f32 accumulation. The longest fitting name counts. A100,
 * H100, GH200 and B200 have the original's values, whatever their variant. */
/* clang-format off */
static const Peak peaks[] = {
    { "NVIDIA A100", 312e12 },    { "NVIDIA A800", 312e12 },
    { "NVIDIA H100", 989e12 },    { "NVIDIA H200", 989e12 },     { "NVIDIA GH200", 989e12 },
    { "NVIDIA H800", 989e12 },    { "NVIDIA H20", 148e12 },
    { "NVIDIA B100", 1.75e15 },   { "NVIDIA B200", 2.25e15 },    { "NVIDIA GB200", 2.5e15 },
    { "NVIDIA A40", 149.7e12 },   { "NVIDIA A30", 165e12 },      { "NVIDIA A10", 125e12 },
    { "NVIDIA L40S", 362e12 },    { "NVIDIA L40", 181e12 },      { "NVIDIA L4", 121e12 },
    { "Tesla V100", 125e12 },     { "NVIDIA RTX A6000", 154.8e12 },
    { "NVIDIA GeForce RTX 4090", 165.2e12 }, { "NVIDIA GeForce RTX 3090", 71e12 },
    { "AMD Instinct MI250X", 191.5e12 }, /* of one of its two dies: that is one device */
    { "AMD Instinct MI300A", 980.6e12 },  { "AMD Instinct MI300X", 1307.4e12 },
    { "AMD Instinct MI325X", 1307.4e12 }, { "AMD Instinct MI355X", 2516.6e12 },
};
/* clang-format on */

double device_peak_flops(const char *device_name)
{
    double flops = 0;
    size_t longest = 0;
    for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++) {
        size_t len = strlen(peaks[i].name);
        if (len <= longest || strncmp(device_name, peaks[i].name, len) != 0) continue;
        longest = len;
        flops = peaks[i].flops;
    }
    return flops;
}

double flops_per_token_palm(int64_t n_params, int64_t n_layer, int64_t sequence_length,
                            int64_t n_embd)
{
    return 6.0 * (double)n_params +
           12.0 * (double)n_layer * (double)sequence_length * (double)n_embd;
}

/* A token attends to (s + 1) / 2 positions on average; scores and their product with v cost 2 d
 * each per position forward and twice that backward. */
double flops_per_token_matmul(int64_t n_matmul_params, int64_t n_layer, int64_t sequence_length,
                              int64_t d_attention)
{
    double positions = ((double)sequence_length + 1) / 2;
    return 6.0 * (double)n_matmul_params + 12.0 * (double)n_layer * positions * (double)d_attention;
}

double mfu_compute(const Mfu *m, int64_t n_params, double samples_per_second, double peak_flops)
{
    if (!(peak_flops > 0)) return -1;
    double per_token = flops_per_token_palm(n_params, m->n_layer, m->sequence_length, m->n_embd);
    return samples_per_second * (double)m->sequence_length * per_token /
           (peak_flops * (double)m->world_size);
}

static const Field fields[] = {
    FIELD_INT(Mfu, n_layer, NULL, 1, INFINITY, "layers of the model", .flags = FIELD_STRICT),
    FIELD_INT(Mfu, sequence_length, NULL, 1, INFINITY, "tokens of a sample", .flags = FIELD_STRICT),
    FIELD_INT(Mfu, n_embd, NULL, 1, INFINITY, "width of the model", .flags = FIELD_STRICT),
    FIELD_INT(Mfu, world_size, NULL, 1, INFINITY, "devices of the job", .flags = FIELD_STRICT),
    FIELD_COMPONENTS(Mfu, model_parts, "model", NULL, 0, 0, "whose parameters count",
                     .flags = FIELD_LIST_OR_ONE, .alias = "wrapped_model"),
    FIELD_COMPONENT(Mfu, device_mesh, void, "device_mesh", "null",
                    "parameters are summed over its pipeline axis",
                    .no_effect = "one rank holds all stages"),
    { 0 },
};

static Error *build(Builder *b, const void *settings, void **out)
{
    *out = arena_copy(builder_arena(b), settings, sizeof(Mfu));
    return NULL;
}

const ComponentDef mfu_calculator_gpt2 = {
    .kind = "mfu_calculator",
    .variant = "gpt2",
    .doc = "model FLOPs utilisation by 6N + 12 L s d FLOPs per token",
    .fields = fields,
    .settings_size = sizeof(Mfu),
    .build = build,
};
