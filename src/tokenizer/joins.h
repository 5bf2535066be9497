/* joins.h - which bytes a token can join: where none can, a text may be cut and its parts encoded
 * apart, though the tokenizer itself does not cut it into words.
 *
 * A place between two characters is told by the last byte before and the first byte behind it.
 * U+2581, which stands for a blank in many vocabularies, counts as one byte of its own, 0xFF. */
#ifndef TOKENIZER_JOINS_H
#define TOKENIZER_JOINS_H
#include "base/arena.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

enum { BLANK_BYTE = 0xFF };

/* Bit [left][right] is set when some token can join these two bytes. */
typedef struct JoinTable {
    uint64_t bit[256][4];
} JoinTable;

/* Nothing can be joined yet but the bytes of one character. */
JoinTable *joins_new(Arena *a);
void joins_set(JoinTable *j, uint8_t left, uint8_t right);
/* A token may be made of these two parts. */
void joins_add(JoinTable *j, Str left, Str right);
/* A token has this text: every place within it may be joined. */
void joins_add_inside(JoinTable *j, Str text);

/* Model.cut (model.h) by this table. */
int64_t joins_cut(const JoinTable *j, const char *text, uint32_t len, uint32_t from, uint32_t until,
                  uint32_t *end);

static inline bool joins_can(const JoinTable *j, uint8_t left, uint8_t right)
{
    return j->bit[left][right >> 6] >> (right & 63) & 1;
}
#endif
