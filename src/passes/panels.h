/* panels.h - whether the weights of linear layers are read from panels (ops/panels.h). */
#ifndef PASSES_PANELS_H
#define PASSES_PANELS_H
#include "graph/pass.h"

typedef enum PanelsDecision { PANELS_UNDECIDED, PANELS_NO, PANELS_YES } PanelsDecision;

/* Of all programs over one store: the first decides, by the memory that is free. */
typedef struct PanelsChoice {
    PanelsDecision decision;
    size_t free_bytes; /* for parameters, their panels and all else */
} PanelsChoice;

extern const PassDef pass_panels;
#endif
