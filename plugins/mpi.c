/* mpi.c - binds the program to an MPI library; `make mpi` compiles it with that library's mpicc. */
#include "comm/mpi_calls.h"
#include <dlfcn.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Comm comm_of(const void *comm)
{
    return *(const MPI_Comm *)comm;
}

static MPI_Request *request(void *requests, int at)
{
    return (MPI_Request *)requests + at;
}

/* Errors come back as statuses instead of ending the process. */
static void *own(MPI_Comm c)
{
    MPI_Comm *kept = malloc(sizeof *kept);
    if (!kept) abort();
    *kept = c;
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    return kept;
}

#ifdef OPEN_MPI
typedef char *Render(const char *file, const char *topic, int is_error, va_list args);
static Render *render;

static int show_help(const char *file, const char *topic, int is_error, ...)
{
    va_list args;
    va_start(args, is_error);
    char *text = render(file, topic, is_error, args);
    va_end(args);
    if (text) fputs(text, stderr);
    free(text);
    return 0;
}
#endif

/* Open MPI hands its long messages to mpirun and waits until that has taken them. But mpirun sleeps
 * while it ends a job in which a rank has died, which is when a message says that this rank does
 * not answer: the others could not report it. So messages are printed here. */
static void print_messages_here(void)
{
#ifdef OPEN_MPI
    void **function = dlsym(RTLD_DEFAULT, "opal_show_help");
    void *found = dlsym(RTLD_DEFAULT, "opal_show_help_vstring");
    if (!function || !found) return;
    memcpy(&render, &found, sizeof found);
    int (*printed)(const char *, const char *, int, ...) = show_help;
    memcpy(function, &printed, sizeof printed);
#endif
}

static int start(char *problem, size_t size)
{
    int level, *highest, is_set;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS) {
        snprintf(problem, size, "MPI_Init_thread has failed");
        return 1;
    }
    print_messages_here();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (level < MPI_THREAD_MULTIPLE) {
        snprintf(problem, size, "this MPI library has no MPI_THREAD_MULTIPLE, which is needed");
        return 1;
    }
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &is_set);
    if (is_set && *highest >= MPI_HIGHEST_TAG) return 0;
    snprintf(problem, size, "the tags of this MPI library end at %d, but %d are needed",
             is_set ? *highest : 0, MPI_HIGHEST_TAG);
    return 1;
}

static int all(void **comm, int *rank, int *size)
{
    MPI_Comm copy;
    int status = MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (status != MPI_SUCCESS) return status;
    MPI_Comm_rank(copy, rank);
    MPI_Comm_size(copy, size);
    *comm = own(copy);
    return 0;
}

static int group(void *comm, const int *ranks, int n, int key, void **out)
{
    MPI_Group whole, some;
    MPI_Comm made;
    int status = MPI_Comm_group(comm_of(comm), &whole);
    if (status != MPI_SUCCESS) return status;
    status = MPI_Group_incl(whole, n, ranks, &some);
    MPI_Group_free(&whole);
    if (status != MPI_SUCCESS) return status;
    status = MPI_Comm_create_group(comm_of(comm), some, key, &made);
    MPI_Group_free(&some);
    if (status == MPI_SUCCESS) *out = own(made);
    return status;
}

static int send(void *comm, const void *data, int bytes, int peer, int tag, void *requests, int at)
{
    return MPI_Isend(data, bytes, MPI_BYTE, peer, tag, comm_of(comm), request(requests, at));
}

static int receive(void *comm, void *data, int bytes, int peer, int tag, void *requests, int at)
{
    return MPI_Irecv(data, bytes, MPI_BYTE, peer < 0 ? MPI_ANY_SOURCE : peer, tag, comm_of(comm),
                     request(requests, at));
}

static int test(void *requests, int at, bool *is_done, int *got)
{
    MPI_Status received;
    int done = 0, status = MPI_Test(request(requests, at), &done, &received);
    *is_done = done;
    if (status == MPI_SUCCESS && done) MPI_Get_count(&received, MPI_BYTE, got);
    return status;
}

static void drop(void *requests, int at)
{
    if (*request(requests, at) == MPI_REQUEST_NULL) return;
    MPI_Cancel(request(requests, at));
    MPI_Wait(request(requests, at), MPI_STATUS_IGNORE);
}

static void describe(int status, char *out, size_t size)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(status, text, &length);
    snprintf(out, size, "%s", text);
}

static void free_comm(void *comm)
{
    MPI_Comm c = comm_of(comm);
    MPI_Comm_free(&c);
    free(comm);
}

static void finish(void)
{
    MPI_Finalize();
}

__attribute__((visibility("default"))) const MpiCalls modalities_mpi_calls = {
    .version = MPI_CALLS_VERSION,
    .request_bytes = sizeof(MPI_Request),
    .start = start,
    .all = all,
    .group = group,
    .send = send,
    .receive = receive,
    .test = test,
    .drop = drop,
    .describe = describe,
    .free_comm = free_comm,
    .finish = finish,
};
