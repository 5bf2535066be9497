/* thread_shim.c - LD_PRELOAD: lets the N-th thread of the process fail to be made, as where a user
 * or a job may have no more.
 *
 *   THREAD_AT=7       the 7th
 *   THREAD_REST=1     and all after it
 *   THREAD_LOG=file   made when one failed */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

typedef int Create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static bool is_to_fail(void)
{
    static long seen;
    const char *at = getenv("THREAD_AT"), *log = getenv("THREAD_LOG");
    long n = __atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED), from = at ? atol(at) : 0;
    bool fails = from && (n == from || (n > from && getenv("THREAD_REST")));
    if (fails && log) close(open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    return fails;
}

int pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *arg)
{
    static union { /* C has no conversion between the two */
        void *object;
        Create *function;
    } next;
    if (is_to_fail()) return EAGAIN;
    if (!next.object) next.object = dlsym(RTLD_NEXT, "pthread_create");
    return next.object ? next.function(out, attributes, run, arg) : ENOSYS;
}
