/* write_values.h - values of a JSON object that grows, each under its name. */
#ifndef MODELS_HF_WRITE_VALUES_H
#define MODELS_HF_WRITE_VALUES_H
#include "models/decoder.h"

/* The name of a value that follows. */
void hf_put_key(Text *t, const char *name);
void hf_put_text(Text *t, const char *name, const char *value);
void hf_put_int(Text *t, const char *name, int64_t value);
void hf_put_double(Text *t, const char *name, double value);
void hf_put_bool(Text *t, const char *name, bool value);
void hf_put_doubles(Text *t, const char *name, const FloatList *list);
void hf_put_null(Text *t, const char *name);
/* 0 means that there is none, and is null. */
void hf_put_optional(Text *t, const char *name, double value);
void hf_put_optional_int(Text *t, const char *name, int64_t value);
/* Of the object's own keys, one by another name, if there is such a one. */
void hf_rename_key(Text *t, const char *from, const char *to);
/* A list of what `put` writes of each layer; those of which it writes nothing are left out. */
void hf_put_of_layers(Text *t, const char *name, const Decoder *d,
                      void (*put)(Text *item, const DecoderLayer *l, int64_t i));
#endif
