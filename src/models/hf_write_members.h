/* hf_write_members.h - the members of config.json, one after the other into an object that was
 * begun with "{". */
#ifndef MODELS_HF_WRITE_MEMBERS_H
#define MODELS_HF_WRITE_MEMBERS_H
#include "models/decoder.h"
#include "models/hf_family.h"

/* Class and format of the weights. */
void hf_put_class(Text *t, const char *model_type, const char *class, Dtype dtype);
/* What the class of a family reads. */
void hf_put_members(Text *t, const Decoder *d, const HfFamily *f);
/* Of them, what it says layer by layer, and of mixtures of experts. */
void hf_put_layers(Text *t, const Decoder *d, const HfFamily *f);
void hf_put_moe(Text *t, const Decoder *d, const HfFamily *f);
/* A layer whose positions turn, one without a window if there is one; NULL: there is none. */
const DecoderLayer *hf_turning_layer(const Decoder *d);
/* hf_write_gemma4.c: what only Gemma 4 has. */
void hf_put_gemma4(Text *t, const Decoder *d);
/* hf_write_dbrx.c: what DBRX has beside its sizes. */
void hf_put_dbrx(Text *t, const Decoder *d, const HfFamily *f, const char *activation);
#endif
