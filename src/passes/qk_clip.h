/* qk_clip.h - weights of queries and keys are scaled down where logits of attention grow too large
 * (MuonClip, Kimi K2 2025). Output "attention_logit_max" of the step: of this rank's layers. */
#ifndef PASSES_QK_CLIP_H
#define PASSES_QK_CLIP_H
#include "graph/pass.h"

#define ATTENTION_LOGIT_MAX "attention_logit_max"

typedef struct QkClip {
    double threshold; /* the largest logit that changes nothing */
    double alpha;     /* the queries' share of what is scaled down, by exponent */
} QkClip;
/* Every attention layer keeps the largest logit of each head. */
extern const PassDef pass_watch_logits;
/* After the update: clips by them. */
extern const PassDef pass_qk_clip;
#endif
