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
/* A member of the name that the next value is of; numbers, and true or false. */
void hf_put_key(Text *t, const char *name);
void hf_put_double(Text *t, const char *name, double value);
void hf_put_bool(Text *t, const char *name, bool value);
#endif
