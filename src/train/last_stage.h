/* last_stage.h - logits that the last stage of a pipeline makes, on all ranks of a mesh that share
 * one model by layers and matrices. */
#ifndef TRAIN_LAST_STAGE_H
#define TRAIN_LAST_STAGE_H
#include "train/session.h"

/* The logits of a program of the session, in memory of the arena for last_stage_read. All ranks of
 * the mesh call both functions, for the same program; without a pipeline each is alone. */
Error *last_stage_logits(Session *s, Program *p, Arena *a, Tensor *out);
/* Fills data with what the program has just made; `logits` has its shape. */
Error *last_stage_read(Session *s, Program *p, const Tensor *logits, void *data);
#endif
