/* corpus.h - JSON lines for benchmarks, and the datasets made of them. */
#ifndef BENCH_CORPUS_H
#define BENCH_CORPUS_H
#include "data/datasets.h"
#include "data/pack.h"
#include "measure.h"

typedef struct Corpus {
    Arena *arena;
    const char *path, *folder; /* of the lines; for what is made of them */
    const char *eod;
    Tokenizer *tokenizer;
    int n_threads;
    /* corpus_fill */
    Str memory;       /* the file's bytes, in large pages */
    Str *line, *text; /* of it; the texts of the lines, without JSON */
    int64_t n_texts, n_text_bytes;
    /* corpus_compress */
    const char *compressed; /* a file of the first bytes, with its text's size */
    int64_t n_compressed;
} Corpus;

/* Makes a folder of its own in another; the caller removes it. */
const char *corpus_folder(Arena *a, const char *in);
/* Writes the lines of a text that have a text, again and again up to n_bytes, to `path`, and reads
 * them from disk, into the page cache and into memory. */
void corpus_fill(Corpus *c, const char *text_path, int64_t n_bytes);
/* Compresses the first half of them with gzip, as fast as possible. */
void corpus_compress(Corpus *c);
/* The dataset that tokenizes the lines when they are asked for, and settings that pack them; both
 * need FOLDER/text.idx. */
Dataset *corpus_on_the_fly(const Corpus *c, int64_t sequence_length);
PackSettings corpus_pack_settings(const Corpus *c);
#endif
