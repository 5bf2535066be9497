/* megatron_index.h - the .idx file beside a .bin file of tokens, as Megatron-LM and fairseq write
 * it.
 *
 *   "MMIDIDX\0\0", u64 version 1, u8 type of the tokens, u64 n,
 *   Megatron: u64 m,
 *   i32 length[n] (tokens), i64 place[n] (bytes in the .bin file),
 *   Megatron: i64 first[m] (document d is sequences first[d] to first[d + 1]), i8 mode[n]
 * (optional)
 *
 * All little-endian and unaligned. fairseq's form has no documents: a sequence is one. */
#ifndef DATA_MEGATRON_INDEX_H
#define DATA_MEGATRON_INDEX_H
#include "base/error.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum { MEGATRON_INDEX, FAIRSEQ_INDEX } MegatronForm;

/* A checked index; it reads the bytes it was opened from. */
typedef struct MegatronIndex {
    MegatronForm form;
    int token_bytes; /* 1, 2, 4 or 8 */
    bool is_signed;
    int64_t n_sequences, n_documents;
    const uint8_t *length, *place, *first;
} MegatronIndex;

/* Checks all of it against the size of the .bin file; errors name `name` and the entry. With
 * by_sequence documents are not looked at: each sequence counts as one. */
Error *megatron_index_open(Str bytes, const char *name, int64_t bin_bytes, bool by_sequence,
                           MegatronIndex *out);
/* Where sequence i lies in the .bin file, in bytes. */
int64_t megatron_place(const MegatronIndex *m, int64_t i);
int64_t megatron_bytes(const MegatronIndex *m, int64_t i);
/* The first sequence of document d; n_sequences for d = n_documents. */
int64_t megatron_first(const MegatronIndex *m, int64_t d);

/* The number for tokens of 1, 2 or 4 bytes: u8, u16, i32. */
uint8_t megatron_type(int token_bytes);
extern const char megatron_magic[9];
#endif
