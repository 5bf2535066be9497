/* trainings.h - what several tests of trainings on GPUs use. */
#ifndef TESTS_CUDA_TRAININGS_H
#define TESTS_CUDA_TRAININGS_H
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether the GPU is the mock of one. */
static inline bool is_mock(void)
{
    const char *library = getenv("MODALITIES_CUDA");
    return library && strstr(library, "mock");
}

/* Activations of each block wait in host memory: copies on a second stream. */
#define OFFLOADED_MODEL                                                                            \
    "wrapped_model={component_key: model, variant_key: parallelized, config: {model: "             \
    "{instance_key: model_raw, pass_type: BY_REFERENCE}, device_mesh: {instance_key: "             \
    "device_mesh, pass_type: BY_REFERENCE}, param_dtype: FP_32, offload_every: 1}}"
#endif
