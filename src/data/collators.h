/* collators.h - the collators, as plain C calls. */
#ifndef DATA_COLLATORS_H
#define DATA_COLLATORS_H
#include "data/data.h"
#include "tokenizer/tokenizer.h"

/* Inputs [n, L - 1] under sample_key and targets [n, L - 1], one token later, under target_key. */
Collator *gpt2_collator_new(Arena *a, const char *sample_key, const char *target_key);

/* Masks targets that another collator made. */
typedef struct MaskLoss {
    const Collator *wrapped;
    const char *const *target_key;
    int64_t n_keys;
    int64_t begin, end; /* ids of the tokens around what is learnt */
    int64_t ignore;     /* written elsewhere */
    bool as_original;
} MaskLoss;

Collator *mask_loss_collator_new(Arena *a, const MaskLoss *settings);
#endif
