/* model_run.h - one forward (and backward) pass from files, to compare this program with any other.
 */
#ifndef TRAIN_MODEL_RUN_H
#define TRAIN_MODEL_RUN_H
#include "models/loss.h"

/* AUTOCAST: as BF16, but tables such as RoPE frequencies are not rounded first. */
typedef enum RunPrecision { RUN_F32, RUN_BF16, RUN_AUTOCAST, RUN_F64 } RunPrecision;

typedef struct ModelRun {
    const Model *model;
    /* NULL: those of the model's Hugging Face folder, whose names gradients then have. */
    const char *weights_path; /* .safetensors with the parameters' names, or a checkpoint */
    const char
        *batch_path; /* .safetensors with the model's sample key and (optional) target_key, [b s] */
    const char *output_path; /* gets logits, loss, router_logits.<layer> and aux_loss, and, if
                                asked for, grad.<parameter> */
    const char *target_key;
    const Loss *loss; /* NULL: the cross entropy of target_key, where the batch has it */
    bool gradients;
    RunPrecision precision;
} ModelRun;

/* Errors: files, missing tensors, ids outside the vocabulary (named with their place). Numbers are
 * written in f32, or f64 for RUN_F64. */
Error *model_run(const ModelRun *r);
#endif
