/* pipeline.h - the stages around a vocabulary that is learnt for a tokenizer.json: they cut
 * the texts for training, and stand in the file. */
#ifndef TOKENIZER_TRAIN_PIPELINE_H
#define TOKENIZER_TRAIN_PIPELINE_H
#include "tokenizer/train/train.h"
#include <jansson.h>

/* Names of TrainPreTokenizer and TrainNormalizer, in their order; end with NULL. */
extern const char *const train_pre_tokenizers[], *const train_normalizers[];

/* Words are bytes, and their tokens are spelled in the byte alphabet; otherwise characters. */
bool train_is_byte_level(TrainPreTokenizer p);
/* Refuses settings that contradict each other. */
Error *train_pipeline_check(const BpeTrainSettings *s);
/* As TrainerKind.cutter_new. */
Error *train_cutter_new(Arena *a, const TrainSettings *s, WordCutter **out);
/* Appends the tokenizer.json around a model, which it consumes. `id` are those of the special
 * tokens. */
void train_write_json(const BpeTrainSettings *s, const uint32_t *id, json_t *model, Text *file);
#endif
