/* loss_scaling.c - a factor that keeps gradients in the range of F16 (Micikevicius et al. 2018),
 * adapted by the rules of PyTorch's GradScaler.
 *
 * Small gradients would round to 0, so the loss is multiplied by the largest power of two with
 * which none becomes infinite. The norm and the updates divide it out again. */
#include "train/loss_scaling.h"
#include "comm/mesh.h"
#include "models/model.h"
#include "passes/data_parallel.h"

enum { FIRST_SCALE = 65536, GOOD_STEPS = 2000 };

bool loss_scaling_is_wanted(const Model *m, const Mesh *mesh)
{
    const bool is_sent = m->data_parallel && m->data_parallel->reduce_dtype == F16;
    return m->compute == F16 || (is_sent && mesh && mesh_dp_degree(mesh) > 1);
}

LossScaling loss_scaling_new(void)
{
    return (LossScaling){ .scale = FIRST_SCALE };
}

void loss_scaling_adapt(LossScaling *s, bool is_finite)
{
    if (is_finite && ++s->good_steps < GOOD_STEPS) return;
    s->scale *= is_finite ? 2 : 0.5;
    s->good_steps = 0;
}

bool loss_scaling_can_help(const LossScaling *s)
{
    return s->scale > 1;
}
