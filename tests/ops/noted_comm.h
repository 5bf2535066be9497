/* noted_comm.h - a group that writes down, for its thread, in which order messages begin and end.
 */
#ifndef TESTS_NOTED_COMM_H
#define TESTS_NOTED_COMM_H
#include "comm/comm.h"

/* What a rank did, in order: s starts messages, f waits for them; and what its test adds. */
typedef struct NotedComm {
    Comm plain;
    char did[64];
} NotedComm;

/* From now on calls on `c` are noted in `to`, which stays until noted_end. */
void noted_begin(Comm *c, NotedComm *to);
void noted_end(Comm *c);
/* Adds a letter to what this thread did. */
void noted_add(char letter);
#endif
