/* charsmap_newer.h - decompositions of characters that are newer than the tables of normal_form.h:
 * from Unicode 12 to 17. */
#ifndef TOKENIZER_NORMALIZE_CHARSMAP_NEWER_H
#define TOKENIZER_NORMALIZE_CHARSMAP_NEWER_H
#include <stdint.h>

/* n characters from `from` on are each compatible with one: `to` and those after it. */
typedef struct NewerMapping {
    uint32_t from, n, to;
} NewerMapping;
extern const NewerMapping newer_mapping[]; /* ends with n 0 */

/* A character and the sequence it is compatible with, or is composed of. */
typedef struct NewerSequence {
    uint32_t code;
    int n;
    uint32_t part[3];
} NewerSequence;
extern const NewerSequence newer_compatible[], newer_composed[]; /* end with code 0 */
#endif
