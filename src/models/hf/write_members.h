/* write_members.h - the members of config.json, one after the other into an object that was
 * begun with "{". */
#ifndef MODELS_HF_WRITE_MEMBERS_H
#define MODELS_HF_WRITE_MEMBERS_H
#include "models/decoder.h"
#include "models/hf/family.h"

/* Class and format of the weights. */
void hf_put_class(Text *t, const char *model_type, const char *class, Dtype dtype);
/* Ids of special tokens, which are none, or the last one in classes that need a number. */
void hf_put_token_ids(Text *t, const Decoder *d, const HfFamily *f);
/* What the class of a family reads. */
void hf_put_members(Text *t, const Decoder *d, const HfFamily *f);
/* Of them, what it says layer by layer, and of mixtures of experts. */
void hf_put_layers(Text *t, const Decoder *d, const HfFamily *f);
void hf_put_moe(Text *t, const Decoder *d, const HfFamily *f);
/* rope_parameters of layers with a window and of those without, as hf_read_typed_rope reads them.
 */
void hf_put_typed_ropes(Text *t, const Decoder *d);
/* A set of parameters as an object of that name, as hf_read_rope reads it. */
void hf_put_rope(Text *t, const char *name, const RopeScaling *s, const HfFamily *f,
                 const Decoder *d);
/* Layers that read keys and values of others. */
int64_t hf_shared_layers(const Decoder *d);
/* Of them, what all classes have, by the names of this one for its sizes; eps is left out if it is
 * not in config.json. */
void hf_put_sizes(Text *t, const Decoder *d, const HfFamily *f, const char *width,
                  const char *layers, const char *heads, const char *positions);
/* The dropout of layers and embeddings, by the names of the class. */
void hf_put_dropout(Text *t, const Decoder *d, const HfFamily *f);
const char *hf_activation_name(const Decoder *d);
const char *hf_name_of_activation(Activation activation);
/* Likewise, as the classes that came with GPT-2 call it. */
const char *hf_old_activation_name(const Decoder *d);
/* write_selective.c: selective state spaces, and the periods of kinds of layers. */
void hf_put_selective(Text *t, const Decoder *d, const HfFamily *f);
void hf_put_periods(Text *t, const Decoder *d);
/* A layer whose positions turn, one without a window if there is one; NULL: there is none. */
const DecoderLayer *hf_turning_layer(const Decoder *d);
#endif
