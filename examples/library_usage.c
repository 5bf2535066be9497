/* library_usage.c - a program that trains with a collator of its own, and counts how often it was
 * called.
 *
 *     cc -o library_usage library_usage.c -lmodalities
 *     ./library_usage train.yaml weights.safetensors [a.b=value ...]
 *
 * In train.yaml:
 *
 *     collate_fn:
 *       component_key: collate_fn
 *       variant_key: custom_gpt_2_llm_collator
 *       config: {sample_key: input_ids, target_key: target_ids, custom_attribute: anything} */
#include <modalities.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef struct Settings {
    const char *sample_key, *target_key, *custom_attribute;
} Settings;

static const ModalitiesSetting settings[] = {
    MODALITIES_SETTING(Settings, sample_key, NULL, 0, 0, "ids of a sample, and inputs of a batch"),
    MODALITIES_SETTING(Settings, target_key, NULL, 0, 0, "targets of a batch"),
    MODALITIES_SETTING(Settings, custom_attribute, NULL, 0, 0, "whatever this program needs"),
    { 0 },
};

static atomic_llong n_calls;

/* Inputs are all ids but the last, targets all but the first. */
static const char *collate(const void *of, const ModalitiesSamples *samples, int64_t n,
                           ModalitiesBatch *out)
{
    const Settings *s = of;
    int64_t length, other;
    if (!modalities_sample(samples, 0, s->sample_key, &length)) return "there is no sample_key";
    if (length < 2) return "a sample of less than two ids has no target";
    int32_t *inputs = modalities_batch(out, s->sample_key, n, length - 1),
            *targets = modalities_batch(out, s->target_key, n, length - 1);
    if (!inputs || !targets) return "sample_key and target_key must be two names";
    for (int64_t i = 0; i < n; i++) {
        const int32_t *ids = modalities_sample(samples, i, s->sample_key, &other);
        if (other != length) return "the samples differ in length";
        const size_t bytes = (size_t)(length - 1) * sizeof *ids;
        memcpy(inputs + i * (length - 1), ids, bytes);
        memcpy(targets + i * (length - 1), ids + 1, bytes);
    }
    n_calls++;
    return NULL;
}

static const ModalitiesCollator collator = {
    .variant = "custom_gpt_2_llm_collator",
    .doc = "what the next token is",
    .settings = settings,
    .settings_size = sizeof(Settings),
    .collate = collate,
};

static const ModalitiesPlugin own = {
    .api = MODALITIES_API,
    .name = "library_usage",
    .collators = (const ModalitiesCollator *const[]){ &collator, NULL },
};

static int fail(Modalities *m)
{
    fprintf(stderr, "%s\n", modalities_error());
    modalities_close(m);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 3) return fprintf(stderr, "usage: library_usage CONFIG OUT [a.b=value ...]\n"), 2;
    Modalities *m = modalities_open(argv[1], (const char *const *)argv + 3);
    if (!m || !modalities_add_plugin(m, &own) || !modalities_build(m)) return fail(m);
    ModalitiesProgress progress;
    while ((progress = modalities_step(m)) == MODALITIES_STEPPED)
        printf("step %.0f: loss %.9g, gradient norm %.9g, rate %g\n", modalities_metric(m, "step"),
               modalities_metric(m, "loss"), modalities_metric(m, "grad_norm"),
               modalities_metric(m, "lr"));
    if (progress == MODALITIES_FAILED || !modalities_save(m, argv[2])) return fail(m);
    printf("The collator was called %lld times.\n", (long long)n_calls);
    modalities_close(m);
    return 0;
}
