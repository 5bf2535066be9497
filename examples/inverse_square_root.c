/* inverse_square_root.c - a learning-rate schedule from outside: a linear warmup, then the rate
 * falls with the square root of the step (Vaswani et al. 2017); it needs no number of steps, so a
 * training can be made longer at any time.
 *
 *     cc -shared -fPIC -o inverse_square_root.so inverse_square_root.c -lm
 *
 *     plugins: [./inverse_square_root.so]
 *     lr_scheduler:
 *       component_key: scheduler
 *       variant_key: inverse_square_root
 *       config: {warmup_steps: 100, optimizer: ...} */
#include <math.h>
#include <modalities.h>

typedef struct InverseSquareRoot {
    int64_t warmup_steps;
} InverseSquareRoot;

static const ModalitiesSetting settings[] = {
    MODALITIES_SETTING(InverseSquareRoot, warmup_steps, NULL, 1, 1e9,
                       "steps until the optimizer's lr is reached"),
    { 0 },
};

/* `step` counts from 0, the first step of the warmup. */
static double rate(const void *of, double base, int64_t step)
{
    const double warmup = (double)((const InverseSquareRoot *)of)->warmup_steps,
                 now = (double)(step + 1);
    return base * (now < warmup ? now / warmup : sqrt(warmup / now));
}

static const ModalitiesScheduler inverse_square_root = {
    .variant = "inverse_square_root",
    .doc = "a linear warmup, then a rate that falls with the square root of the step",
    .settings = settings,
    .settings_size = sizeof(InverseSquareRoot),
    .rate = rate,
};

const ModalitiesPlugin modalities_plugin = {
    .api = MODALITIES_API,
    .name = "inverse_square_root",
    .schedulers = (const ModalitiesScheduler *const[]){ &inverse_square_root, NULL },
};
