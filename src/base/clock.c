/* clock.c - monotonic, thread and wall clocks. */
#include "base/clock.h"
#include <time.h>

static double seconds_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double clock_seconds(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}
double clock_thread_seconds(void)
{
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}
double clock_of_day(void)
{
    return seconds_of(CLOCK_REALTIME);
}

void clock_format(const char *format, char *out, unsigned long size)
{
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    if (!strftime(out, size, format, &local) && size) out[0] = 0;
}
