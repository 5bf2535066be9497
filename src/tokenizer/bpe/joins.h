/* joins.h - which bytes a token can join: where none can, a text may be cut and its parts encoded
 * apart, though the tokenizer itself does not cut it into words.
 *
 * A place between two characters is told by the last byte before and the first byte after it.
 * U+2581, which stands for a blank in many vocabularies, counts as one byte of its own, 0xFF. */
#ifndef TOKENIZER_BPE_JOINS_H
#define TOKENIZER_BPE_JOINS_H
#include "base/arena.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

enum { BLANK_BYTE = 0xFF, JOINS_SLACK = 64 };

typedef struct JoinTable JoinTable;
typedef int64_t JoinsCut(const JoinTable *j, const char *text, uint32_t len, uint32_t from,
                         uint32_t until, uint32_t *end);

struct JoinTable {
    /* Bit [left][right] is set when some token can join these two bytes. */
    uint64_t bit[256][4];
    /* The same, coarser: bytes fall into eight groups, and all bytes beyond ASCII into one. */
    uint8_t joined_to[256]; /* the groups with a byte that a token can join to this one */
    uint8_t group[256];     /* the bit of the byte's group */
    JoinsCut *cut_groups;
};

/* Nothing can be joined yet but the bytes of one character. */
JoinTable *joins_new(Arena *a);
void joins_set(JoinTable *j, uint8_t left, uint8_t right);
/* A token may be made of these two parts. */
void joins_add(JoinTable *j, Str left, Str right);
/* A token has this text: every place within it may be joined. */
void joins_add_inside(JoinTable *j, Str text);
/* When all is added: finds the groups. */
void joins_group(JoinTable *j);

/* WordModel.cut (model/model.h) by this table, and by its groups: faster, for texts that do not
 * spell U+2581, with JOINS_SLACK readable bytes after them. */
JoinsCut joins_cut, joins_cut_groups;
/* joins_avx2.c, joins_avx512.c (which needs VBMI2): the versions that joins_group chooses from. */
JoinsCut joins_cut_groups_avx2, joins_cut_groups_avx512;

static inline bool joins_can(const JoinTable *j, uint8_t left, uint8_t right)
{
    return j->bit[left][right >> 6] >> (right & 63) & 1;
}
#endif
