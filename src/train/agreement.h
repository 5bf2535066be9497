/* agreement.h - whether the components of a training belong together. */
#ifndef TRAIN_AGREEMENT_H
#define TRAIN_AGREEMENT_H
#include "train/settings.h"

/* Every setting that names a part of the training (the optimizer's model, the scheduler's
 * optimizer, the loss's logits, numbers of ranks) means the part that is trained: another one would
 * be ignored, so it is an error. All of them are told at once. */
Error *training_agreement_check(const Builder *b, const TrainingConfig *c);
#endif
