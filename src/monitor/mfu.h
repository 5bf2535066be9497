/* mfu.h - model FLOPs utilisation: useful FLOPs per second as a share of what the devices could do.
 */
#ifndef MONITOR_MFU_H
#define MONITOR_MFU_H
#include "config/field.h"
#include <stdint.h>

/* Dense 16-bit peak of a device in FLOP/s, by the start of its name ("NVIDIA H100 80GB HBM3"); 0
 * when it is not in the table. A CPU has no entry: its peak is measured. */
double device_peak_flops(const char *device_name);

/* FLOPs of training one token, forward and backward, in the two usual conventions.
 * PaLM (Chowdhery et al. 2022, appendix B): 6N + 12 L s d, all parameters, attention not causal. */
double flops_per_token_palm(int64_t n_params, int64_t n_layer, int64_t sequence_length,
                            int64_t n_embd);
/* Matrix products only: weights that are multiplied (a tied head counts, a looked-up embedding,
 * norms and biases do not) and the causal half of attention, of `d_attention` = heads x head size.
 */
double flops_per_token_matmul(int64_t n_matmul_params, int64_t n_layer, int64_t sequence_length,
                              int64_t d_attention);

/* mfu_calculator.gpt2: its settings are all there is; the trainer counts the parameters. */
typedef struct Mfu {
    int64_t n_layer, sequence_length, n_embd, world_size;
    ComponentList model_parts; /* of kind model */
    void *device_mesh;         /* NULL: one pipeline stage */
} Mfu;

/* The share in [0, 1], or -1 when the peak of one device is not known (<= 0). */
double mfu_compute(const Mfu *m, int64_t n_params, double samples_per_second, double peak_flops);
#endif
