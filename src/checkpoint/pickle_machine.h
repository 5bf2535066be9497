/* pickle_machine.h - the stack machine that a pickle is a program for: its bytes, a stack of
 * values, marks on it, and a memo of values that come again. */
#ifndef CHECKPOINT_PICKLE_MACHINE_H
#define CHECKPOINT_PICKLE_MACHINE_H
#include "checkpoint/pickle.h"

typedef struct PickleMachine {
    Arena *arena;
    Str in;
    size_t at;
    const char *const *allowed;
    Pickle **stack;
    int64_t n, cap;
    int64_t floor; /* height of the stack at the last mark: below is an outer value's */
    int64_t *mark; /* the floors before */
    int64_t n_marks, mark_cap;
    Pickle **memo;
    int64_t n_memo, memo_cap;
    bool done;
} PickleMachine;

/* An error at the byte that is read. */
Error *pickle_bad(const PickleMachine *m, const char *what);

/* Each takes bytes of the program, or says that it ends too early. */
Error *pickle_take(PickleMachine *m, size_t n, const unsigned char **out);
/* A little-endian number of up to 8 bytes. */
Error *pickle_take_number(PickleMachine *m, size_t n, uint64_t *out);
Error *pickle_take_text(PickleMachine *m, size_t bytes_of_length, Str *out);
Error *pickle_take_line(PickleMachine *m, Str *out);

/* A new value on the stack. */
Pickle *pickle_push(PickleMachine *m, PickleKind kind);
/* The last value, off the stack or left there; an error when there is none above the last mark. */
Error *pickle_pop(PickleMachine *m, Pickle **out);
Error *pickle_top(const PickleMachine *m, Pickle **out);
Error *pickle_push_mark(PickleMachine *m);
/* Takes the last mark away: the items above it are stack[*from .. n). */
Error *pickle_pop_mark(PickleMachine *m, int64_t *from);

/* Remembers the last value; puts a remembered one on the stack. */
Error *pickle_memoize(PickleMachine *m, uint64_t at);
Error *pickle_recall(PickleMachine *m, uint64_t at);
#endif
