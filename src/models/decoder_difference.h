/* decoder_difference.h - whether two descriptions compute the same. */
#ifndef MODELS_DECODER_DIFFERENCE_H
#define MODELS_DECODER_DIFFERENCE_H
#include "models/decoder.h"

/* The first option in which two decoders give other logits, as text for messages ("attention_norm:
 * a layer norm instead of an RMS norm"); NULL: there is none. Dropout and penalties do not count.
 */
const char *decoder_difference(Arena *a, const Decoder *x, const Decoder *y);
#endif
