/* tiny_training.c - a short training of the small GPT-2. */
#include "tiny_training.h"
#include "optim/made_optimizer.h"
#include "test.h"

enum { BATCH = 2, SEQUENCE = 6, VOCABULARY = 16, QUARTER = TINY_STEPS / 4 };

Optimize tiny_adam(Arena *a)
{
    return (Optimize){ .optimizer = made_optimizer(a, "optimizer: {component_key: optimizer, "
                                                      "variant_key: adam_w, config: {lr: 0.003, "
                                                      "betas: [0.9, 0.95], eps: 1e-8, "
                                                      "weight_decay: 0.1, "
                                                      "weight_decay_groups_excluded: [], "
                                                      "wrapped_model: {instance_key: model, "
                                                      "pass_type: BY_REFERENCE}}}\n"),
                       .norm_type = 2,
                       .max_norm = 1 };
}

static void feed(const TinyRun *t, uint32_t *state)
{
    int32_t ids[BATCH * SEQUENCE], targets[BATCH * SEQUENCE], now = 1;
    for (int i = 0; i < BATCH * SEQUENCE; i++) {
        *state = *state * 1664525 + 1013904223;
        const uint32_t r = *state >> 8;
        ids[i] = now;
        now = r % 3 ? (now * 5 + 3) % VOCABULARY : (int32_t)(r / 3 % VOCABULARY);
        targets[i] = now;
    }
    assert_no_error(program_write(t->program, "input_ids", 0, ids));
    assert_no_error(program_write(t->program, "target_ids", 0, targets));
    assert_no_error(program_wait(t->program));
}

void tiny_train(TinyRun *t, TinyTraining *out)
{
    uint32_t state = 1;
    *out = (TinyTraining){ 0 };
    for (int step = 0; step < TINY_STEPS; step++) {
        t->now.step = t->now.updates = step;
        for (int k = 0; k < MAX_RATES; k++) t->now.rate[k].lr = 0.003;
        feed(t, &state);
        const double loss = out->loss[step] = tiny_step(t);
        if (step < QUARTER) out->first += loss / QUARTER;
        if (step >= TINY_STEPS - QUARTER) out->last += loss / QUARTER;
        assert_no_error(program_run_phases(t->program, RUN_REDUCE | RUN_UPDATE, &t->now));
    }
}
