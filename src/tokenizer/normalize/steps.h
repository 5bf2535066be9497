/* steps.h - what the files of single normalizers share. */
#ifndef TOKENIZER_NORMALIZE_STEPS_H
#define TOKENIZER_NORMALIZE_STEPS_H
#include "tokenizer/normalize/normalizer.h"

/* Passed to the rows of the table: steps are appended to `to`. */
typedef struct NormalizerLoading {
    Arena *arena;
    Normalizer *to;
} NormalizerLoading;

void normalizer_append(NormalizerLoading *l, const NormalizerStep *step);
/* The rows of the table of normalizers; each appends its steps. */
Error *normalizer_load_bert(JsonNode at, void *loading);
Error *normalizer_load_precompiled(JsonNode at, void *loading);
Error *normalizer_load_replace(JsonNode at, void *loading);
Error *normalizer_load_lowercase(JsonNode at, void *loading);
Error *normalizer_load_strip_accents(JsonNode at, void *loading);
Error *normalizer_load_nmt(JsonNode at, void *loading);

/* chars.c: a step that rewrites one character at a time. */
enum { REWRITE_ROOM = 32 };
typedef struct CharRewrite {
    NormalizerStep base;
    /* Writes what a character becomes and returns its bytes, at most REWRITE_ROOM; -1: it stays. */
    int (*rewrite)(uint32_t c, char *out);
    bool keeps_ascii; /* no ASCII character changes */
} CharRewrite;
Error *normalize_chars(const NormalizerStep *self, Str text, NormalizerRoom *room, Text *out,
                       bool *changed);
extern const CharRewrite lowercase_step;
#endif
