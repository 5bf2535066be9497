/* generation_config.h - what generate_text needs, without a YAML: from the folder of a model. */
#ifndef TRAIN_GENERATION_CONFIG_H
#define TRAIN_GENERATION_CONFIG_H
#include "base/rank.h"
#include "config/yaml.h"

enum { GENERATION_TOKENS = 4096 }; /* of a text, at most, unless more are asked for */

/* `model`: a model of Hugging Face, as a folder or a name in its local cache; or a checkpoint, an
 * experiment (its last checkpoint) or a last_checkpoint_info.json, whose model is that of the
 * configuration which is kept with it, without wrappers for layouts and training. `tokenizer`: a
 * folder with tokenizer.json, that file, or a SentencePiece .model; NULL: that of the model's
 * folder. An answer ends with the tokenizer's eos token, or <|endoftext|> if it names none. */
Error *generation_config_of(Arena *a, const char *model, const char *tokenizer, const Rank *rank,
                            Yaml **root);
#endif
