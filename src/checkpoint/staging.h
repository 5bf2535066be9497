/* staging.h - what a save reads while the training goes on.
 *
 * The thread that writes is lent numbers where they lie, for one writing after the other. Whoever
 * is about to change them calls staging_copy, which copies what is not taken by then: a save makes
 * no copy of what it takes in time, and nobody waits for more than one writing. */
#ifndef CHECKPOINT_STAGING_H
#define CHECKPOINT_STAGING_H
#include "base/error.h"
#include "checkpoint/piece_numbers.h"

typedef struct Staging Staging;

/* Tells where the numbers of a piece are, until the next call. */
typedef Error *PieceSource(void *context, int64_t piece, PieceNumbers *out);

Staging *staging_new(void);
/* No save may be on its way. NULL is allowed. */
void staging_free(Staging *s);
/* Bytes that a piece takes in a copy. */
size_t staging_room(size_t bytes);
/* Sets memory aside for a copy of so many bytes. `touched`: no step waits for the system to find
 * it; else it is the machine's until something is copied. */
void staging_reserve(Staging *s, size_t bytes, bool touched);

/* A save begins. Its pieces follow, in any order: `source`, with its context, has to answer until
 * staging_end, and may be called by the thread that writes. Returns the number of the piece. */
void staging_begin(Staging *s);
int64_t staging_add(Staging *s, PieceSource *source, void *context, int64_t piece, size_t bytes);
/* For the thread that writes: the numbers of a piece. They do not change until staging_return says
 * that nothing which was lent is needed any more; how much of them was taken is said before. */
Error *staging_lend(Staging *s, int64_t piece, PieceNumbers *out);
void staging_took(Staging *s, int64_t piece, size_t n);
void staging_return(Staging *s);
/* Whether somebody waits in staging_copy. */
bool staging_is_wanted(Staging *s);
/* Copies what was not taken so far; then the numbers may change. Waits for what is lent. After
 * an error they have to stay. */
Error *staging_copy(Staging *s, Pool *pool);
/* Nothing is read any more. */
void staging_end(Staging *s);
/* Bytes that the present save has copied, or the last one; of all its pieces. */
size_t staging_copied(const Staging *s);
#endif
