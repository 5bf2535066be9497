/* file.h - the content of a SentencePiece .model file (a ModelProto message). */
#ifndef TOKENIZER_SENTENCEPIECE_FILE_H
#define TOKENIZER_SENTENCEPIECE_FILE_H
#include "base/error.h"
#include "tokenizer/model/vocab.h"
#include "tokenizer/normalize/charsmap.h"

typedef enum { SP_NORMAL = 1, SP_UNKNOWN, SP_CONTROL, SP_USER_DEFINED, SP_UNUSED, SP_BYTE } SpType;
typedef enum { SP_UNIGRAM = 1, SP_BPE, SP_WORD, SP_CHAR } SpKind;

/* The settings of a normalizer_spec. */
typedef struct SpRules {
    const Charsmap *charsmap; /* NULL: none */
    bool add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces;
} SpRules;

typedef struct SpFile {
    int64_t n;
    Str *name; /* by id, as everything below */
    float *score;
    uint8_t *type; /* SpType */
    SpKind kind;
    bool byte_fallback, whitespace_as_suffix;
    Str unk_surface; /* what an unknown token is in decoded text */
    Str bos_piece, eos_piece, pad_piece;
    SpRules rules;
    bool has_denormalizer;
    SpRules denormalizer; /* rewrites decoded text */

    Vocab reserved, usable; /* names of control, unknown and byte pieces; of the others */
    uint32_t unk_id;
    uint32_t byte_id[256]; /* with byte_fallback */
} SpFile;

/* Reads a model; the arena owns everything. Errors say what is wrong where, without the path. */
Error *sp_file_read(Arena *a, Str bytes, SpFile *out);
/* Whether a file with these first bytes may be one. */
bool sp_file_looks_like(Str start);
/* The id of a piece; unk_id when there is none. */
uint32_t sp_file_id(const SpFile *f, Str piece);
#endif
