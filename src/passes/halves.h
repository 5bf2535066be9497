/* halves.h - parameters that products alone read, in bf16, are kept as that and the 16 bits that it
 * lacks of f32 (tensor/halves.h), in place of f32 and a copy: two bytes less, and the same numbers.
 *
 * Those of whose f32 number something else makes use stay whole: frozen ones, and what an optimizer
 * without OpDef.halves, an average, clipping by logits or a further reader takes. The first program
 * that meets a parameter decides for all that share it. */
#ifndef PASSES_HALVES_H
#define PASSES_HALVES_H
#include "base/map.h"
#include "graph/pass.h"

/* What is decided of the parameters of programs that share them, by name. */
typedef struct Halves {
    Map *decided; /* a HalvesChoice */
} Halves;
typedef struct HalvesChoice {
    bool in_halves;
} HalvesChoice;
extern const PassDef pass_halves;
#endif
