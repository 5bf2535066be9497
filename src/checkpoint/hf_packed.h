/* hf_packed.h - parameters of Hugging Face folders whose numbers are no floats there: of four or
 * eight bits with scales, or ternary. */
#ifndef CHECKPOINT_HF_PACKED_H
#define CHECKPOINT_HF_PACKED_H
#include "checkpoint/box.h"
#include "checkpoint/hf_folder.h"
#include "models/hf/config.h"
#include "models/hf/source.h"

/* How one parameter is packed; all NULL: it is not. */
typedef struct HfPacked {
    struct Fp8 *scaled;            /* of each tensor */
    const struct Ternary *ternary; /* of all of it */
    const Tensor *blocks, *scales; /* of numbers of four bits */
} HfPacked;

/* These find a parameter's tensors, and check them: errors name tensor and file. */

/* Experts of four bits, in blocks beside each other. */
Error *hf_packed_blocks(HfFolder *f, const HfSource *s, HfPacked *out);
/* A matrix of ternary numbers. */
Error *hf_packed_ternary(HfFolder *f, const HfModel *m, const HfSource *s, HfPacked *out);
/* The scales of tensor k of the parameter, whose numbers of eight bits are `codes`, or, as I8, of
 * four. `number` is what fp8_numbers gives. */
Error *hf_packed_scales(HfFolder *f, const HfModel *m, const HfSource *s, int64_t k,
                        const HfFound *codes, const float *number, HfPacked *out);

/* Numbers of a box of a parameter in blocks. */
void hf_packed_read_blocks(const HfPacked *p, const HfSource *s, const Box *box, bf16 *out);
/* n numbers of tensor `part`, from element `at` on, `stride` apart; of ternary ones 1. False: it
 * has neither scales nor signs. */
bool hf_packed_read(const HfPacked *p, int64_t part, int64_t at, int64_t stride, int64_t n,
                    void *out);
#endif
