/* decoder_model.h - models of model.decoder's settings. */
#ifndef TESTS_DECODER_MODEL_H
#define TESTS_DECODER_MODEL_H
#include "models/decoder.h"

/* Those that it must have, of a small model; more may follow. */
#define DECODER_SETTINGS                                                                           \
    "sample_key: input_ids, prediction_key: logits, vocab_size: 16, sequence_length: 32, n_embd: " \
    "8, n_layer: 4, n_head_q: 2, n_head_kv: 1, ffn_hidden: 12, "

/* The model of these settings, or why there is none. */
Error *decoder_model(Arena *a, const char *settings, Model **out);
#endif
