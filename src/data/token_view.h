/* token_view.h - tokens of a .pbin file as a sample's tensor, in place. */
#ifndef DATA_TOKEN_VIEW_H
#define DATA_TOKEN_VIEW_H
#include "data/data.h"
#include "data/pbin.h"

/* A sample of one item: `n` tokens from `first`. */
Sample token_view(const Pbin *p, const char *name, int64_t first, int64_t n);
/* Appends "PATH, sample 3 (tokens 768 to 1024)". */
void token_view_describe(const Pbin *p, int64_t index, int64_t first, int64_t n, Text *out);
#endif
