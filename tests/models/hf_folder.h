/* hf_folder.h - config.json of small models in a folder of the test. */
#ifndef TESTS_HF_FOLDER_H
#define TESTS_HF_FOLDER_H
#include "models/hf/config.h"

/* Members of config.json: a small Llama. */
extern const char hf_llama[];
/* A folder whose config.json has these members. */
const char *hf_folder_with(Arena *a, const char *members, const char *more);
/* What such a folder describes. */
const Decoder *hf_decoder_with(Arena *a, const char *members, const char *more);
/* Fails the test unless reading it is an error with this part. */
void hf_refuses(Arena *a, const char *members, const char *more, const char *part);
#endif
