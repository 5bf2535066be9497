/* bare_step.c - settings, optimizer and phases of the steps that benchmarks measure. */
#include "bare_step.h"
#include "measure.h"
#include "models/initializer.h"
#include "models/loss.h"
#include "ops/adam.h"
#include "optim/gradient_clipper.h"
#include "optim/optim.h"

NormChoice bench_rms(int64_t width)
{
    return (NormChoice){ .norm_type = NORM_RMS,
                         .config = { .which = 0, .rms = { width, 1e-5, true } } };
}

NormChoice bench_layer_norm(int64_t width)
{
    return (NormChoice){ .norm_type = NORM_LAYER,
                         .config = { .which = 2, .layer = { width, 1e-5, true, true } } };
}

Gpt2Settings bench_gpt2(int64_t n_layer, int64_t n_head, int64_t width, int64_t vocabulary,
                        int64_t sequence, NormChoice norm)
{
    return (Gpt2Settings){ .sample_key = "input_ids",
                           .prediction_key = "logits",
                           .poe_type = POE_ABSOLUTE,
                           .sequence_length = sequence,
                           .vocab_size = vocabulary,
                           .n_layer = n_layer,
                           .n_head_q = n_head,
                           .n_head_kv = n_head,
                           .n_embd = width,
                           .ffn_hidden = 4 * width,
                           .activation_type = ACTIVATION_GELU,
                           .attention_norm_config = norm,
                           .ffn_norm_config = norm,
                           .lm_head_norm_config = norm,
                           .enforce_swiglu_hidden_dim_multiple_of = 256 };
}

static Error *small_weights(const Initializer *self, Graph *g)
{
    (void)self;
    for (int64_t i = 0; i < g->n_values; i++)
        if (g->value[i]->kind == VALUE_PARAM && g->value[i]->n_dims > 1)
            g->value[i]->init = (Init){ .kind = INIT_NORMAL, .std = 0.02 };
    return NULL;
}

const Initializer bench_small_weights = { .apply = small_weights };

typedef struct BareAdam {
    Optimizer base;
    Dtype moment;
} BareAdam;

static void update(const Optimizer *self, Graph *g, Value *param, Value *grad, Value *factor,
                   const ParamGroup *group)
{
    const Dtype t[] = { ((const BareAdam *)self)->moment, F32 };
    const AdamSettings attrs = { .beta1 = 0.9,
                                 .beta2 = 0.95,
                                 .eps = 1e-8,
                                 .weight_decay = group->weight_decay,
                                 .decoupled = true };
    Value *moment[2];
    for (int i = 0; i < 2; i++)
        moment[i] = graph_state(g, arena_printf(g->arena, "m%d.%s", i, param->name), t[i],
                                param->n_dims, param->dim);
    adam(g, param, grad, moment[0], moment[1], factor, &attrs);
}

Program *bench_training(Arena *a, Session *s, const Model *m, Dtype moment, int64_t batch,
                        int64_t sequence)
{
    static const char *const none[] = { NULL };
    Loss *loss = NEW(a, Loss);
    BareAdam *optimizer = NEW(a, BareAdam);
    GradientClipper *clipper = NEW(a, GradientClipper);
    Program *p;
    *loss = loss_of_tokens("target_ids");
    *optimizer = (BareAdam){ { .update = update, .excluded = none, .model = m }, moment };
    *clipper = (GradientClipper){ .norm_type = 2, .max_norm = 1 };
    die(session_training_program(s, loss, &optimizer->base, clipper, NULL, batch, sequence, &p));
    die(store_initialize(session_store(s), 1));
    return p;
}

static RunTime time_of(int64_t number)
{
    return (
        RunTime){ .step = number, .updates = number, .loss_scale = 1, .rate = { { .lr = 1e-4 } } };
}

void bench_step(Program *p, int64_t number)
{
    const RunTime now = time_of(number);
    die(program_run_phases(p, RUN_FORWARD | RUN_BACKWARD, &now));
    die(program_run_phases(p, RUN_REDUCE, &now));
    die(program_run_phases(p, RUN_UPDATE, &now));
}

static Error *run_actions(Program *p, const RunTime *now)
{
    static const unsigned phases[] = { RUN_FORWARD | RUN_BACKWARD, RUN_REDUCE, RUN_UPDATE };
    for (int i = 0; i < 3; i++) TRY(program_run(p, &(Action){ .phases = phases[i] }, now));
    return NULL;
}

static void give(Program *p, int64_t number, bool is_ahead)
{
    RunTime now = time_of(number);
    bool again;
    now.is_gated = true;
    now.is_ahead = is_ahead;
    die(program_begin_step(p));
    die(program_end_step(p, run_actions(p, &now), &again));
    if (again) die(run_actions(p, &now));
}

void bench_step_ahead(Program *p, int64_t number)
{
    if (!program_can_go_ahead(p)) {
        bench_step(p, number);
        return;
    }
    if (number == 0) give(p, 0, false);
    give(p, number + 1, true);
    die(program_reach(p, true));
    if (program_left_out(p)) die(error_new("the update of step %d is left out", (int)number + 1));
}
