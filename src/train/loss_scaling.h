/* loss_scaling.h - a factor that keeps gradients in the range of F16, adapted while training. */
#ifndef TRAIN_LOSS_SCALING_H
#define TRAIN_LOSS_SCALING_H
#include <stdbool.h>
#include <stdint.h>

struct Mesh;
struct Model;

/* Zeroed: none. */
typedef struct LossScaling {
    double scale;       /* of the loss and all gradients; 0: they are not scaled */
    int64_t good_steps; /* since the scale was changed */
} LossScaling;

/* Whether gradients of the model are F16 somewhere: where they are made, or on their way between
 * ranks. */
bool loss_scaling_is_wanted(const struct Model *m, const struct Mesh *mesh);
/* As PyTorch's GradScaler begins: 65536. */
LossScaling loss_scaling_new(void);
/* After a step: halves the scale where a gradient was not finite, doubles it after 2000 steps in
 * which all were. */
void loss_scaling_adapt(LossScaling *s, bool is_finite);
/* Whether a smaller scale may make gradients finite that were not. */
bool loss_scaling_can_help(const LossScaling *s);
#endif
