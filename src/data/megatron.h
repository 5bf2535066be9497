/* megatron.h - packed tokens from and to the .bin and .idx files of Megatron-LM and fairseq. */
#ifndef DATA_MEGATRON_H
#define DATA_MEGATRON_H
#include "base/arena.h"
#include "data/megatron_index.h"

/* "corpus" of "corpus.bin", "corpus.idx" and "corpus". */
const char *megatron_prefix(Arena *a, const char *path);

typedef struct MegatronSummary {
    int64_t n_documents, n_sequences, n_bytes; /* of tokens in the .pbin file */
    MegatronForm form;
} MegatronSummary;

/* Writes the documents of bin_path, which idx_path describes, as a .pbin file. A negative token is
 * an error, and one of 64 bits that needs more than 32. */
Error *import_megatron(const char *bin_path, const char *idx_path, const char *target,
                       bool by_sequence, MegatronSummary *out);
/* The other way; each document is one sequence. The .idx file appears after the .bin file. */
Error *export_megatron(const char *source, const char *bin_path, const char *idx_path,
                       MegatronForm form, MegatronSummary *out);
#endif
