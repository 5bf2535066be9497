/* mpi_calls.h - the few calls of an MPI library that this program makes.
 *
 * The program is not linked with MPI: a library of its own, made from plugins/mpi.c with the
 * compiler of the MPI that is there, exports one table of these. */
#ifndef COMM_MPI_CALLS_H
#define COMM_MPI_CALLS_H
#include <stdbool.h>
#include <stddef.h>

enum { MPI_CALLS_VERSION = 2, MPI_HIGHEST_TAG = 1 << 20 };
#define MPI_CALLS_NAME "modalities_mpi_calls"

/* Functions that return an int return 0, or a status for `describe`. A request is request_bytes
 * large; `at` counts them from `requests`. */
typedef struct MpiCalls {
    int version;
    size_t request_bytes;
    /* Starts MPI for many threads, with tags up to MPI_HIGHEST_TAG. On failure `problem` gets a
     * text. */
    int (*start)(char *problem, size_t size);
    /* The group of all ranks, once more; the caller frees it. */
    int (*all)(void **comm, int *rank, int *size);
    /* Collective over these ranks of `comm` only. */
    int (*group)(void *comm, const int *ranks, int n, int key, void **out);
    int (*send)(void *comm, const void *data, int bytes, int peer, int tag, void *requests, int at);
    /* peer -1: whoever sends */
    int (*receive)(void *comm, void *data, int bytes, int peer, int tag, void *requests, int at);
    /* Whether the request is done; never waits. Then `got` becomes the bytes that it has received;
     * of one that has sent, anything. */
    int (*test)(void *requests, int at, bool *is_done, int *got);
    /* Takes back a receive that nothing has come for. */
    void (*drop)(void *requests, int at);
    void (*describe)(int status, char *out, size_t size);
    void (*free_comm)(void *comm);
    void (*finish)(void);
} MpiCalls;

#endif
