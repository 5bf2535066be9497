/* kept_params.c - copies parameters after every step. */
#include "train/kept_params.h"
#include <string.h>

static void keep(void *context, const StepReport *r)
{
    KeptParams *k = context;
    if (r->step == 1) k->first_loss = r->loss[0];
    k->n = 0;
    for (int64_t i = 0; i < store_count(r->store); i++) {
        const Stored *s = store_at(r->store, i);
        if (s->kind != VALUE_PARAM) continue;
        assert_true(k->n < MOST_KEPT);
        k->name[k->n] = arena_string(k->arena, s->name);
        k->has_states[k->n] = store_find(r->store, arena_printf(k->arena, "exp_avg.%s", s->name));
        k->has_gradient[k->n] = store_find(r->store, arena_printf(k->arena, "grad.%s", s->name));
        Tensor view;
        assert_no_error(store_numbers(r->store, s, true, k->arena, &view));
        k->tensor[k->n] = view;
        k->tensor[k->n++].data = arena_copy(k->arena, view.data, tensor_bytes(&view));
    }
}

KeptParams kept_params(Arena *a, Words set)
{
    KeptParams k = { .arena = a };
    TrainingEnd end;
    SmallJob *s = small_job_new("x", set);
    s->job.observe = keep;
    s->job.observer = &k;
    assert_no_error(trainer_run(&s->job, &end));
    arena_free(s->bench.arena);
    return k;
}

bool kept_is_same(const KeptParams *x, const KeptParams *y, int64_t i)
{
    return !strcmp(x->name[i], y->name[i]) &&
           !memcmp(x->tensor[i].data, y->tensor[i].data, tensor_bytes(&x->tensor[i]));
}

int64_t kept_find(const KeptParams *k, const char *name)
{
    for (int64_t i = 0; i < k->n; i++)
        if (!strcmp(k->name[i], name)) return i;
    return -1;
}
