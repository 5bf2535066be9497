/* hf_export.h - a model with its weights as a Hugging Face folder. */
#ifndef TRAIN_HF_EXPORT_H
#define TRAIN_HF_EXPORT_H
#include "models/model.h"

typedef struct HfExport {
    const Model *model; /* that brings its weights */
    const char *output_path;
    const char *tokenizer; /* folder whose files are copied; NULL: that of the model's own folder */
    const Dtype *dtype;    /* NULL: as the weights are loaded */
    bool custom_code;      /* the original's own class, where there is no standard one */
} HfExport;

/* *class_name receives the class that was written. */
Error *hf_export(Arena *a, const HfExport *x, const char **class_name);
#endif
