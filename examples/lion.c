/* lion.c - an optimizer from outside: Lion (Chen et al. 2023) steps by the sign of a blend of
 * gradient and moment.
 *
 *     cc -shared -fPIC -o lion.so lion.c
 *
 *     plugins: [./lion.so]
 *     optimizer:
 *       component_key: optimizer
 *       variant_key: lion
 *       config: {lr: 1e-4, beta1: 0.9, weight_decay: 0.1, wrapped_model: ...} */
#include <modalities.h>

typedef struct Lion {
    double beta1, beta2;
} Lion;

static const ModalitiesSetting settings[] = {
    MODALITIES_SETTING(Lion, beta1, "0.9", 0, 1, "share of the moment in a step"),
    MODALITIES_SETTING(Lion, beta2, "0.99", 0, 1, "decay of the moment"),
    { 0 },
};

static void update(const void *of, const ModalitiesUpdate *u)
{
    const Lion *s = of;
    double *moment = u->state[0];
    for (int64_t i = 0; i < u->n; i++) {
        double blend = s->beta1 * moment[i] + (1 - s->beta1) * u->grad[i];
        double sign = (blend > 0) - (blend < 0);
        u->param[i] -= u->lr * (sign + u->weight_decay * u->param[i]);
        moment[i] = s->beta2 * moment[i] + (1 - s->beta2) * u->grad[i];
    }
}

static const ModalitiesOptimizer lion = {
    .variant = "lion",
    .doc = "steps of equal size in every element",
    .settings = settings,
    .settings_size = sizeof(Lion),
    .states = { "moment" },
    .update = update,
};

const ModalitiesPlugin modalities_plugin = {
    .api = MODALITIES_API,
    .name = "lion",
    .optimizers = (const ModalitiesOptimizer *const[]){ &lion, NULL },
};
