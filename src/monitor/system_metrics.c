/* system_metrics.c - memory and processor time of this process. */
#include "monitor/system_metrics.h"
#include "base/clock.h"
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static double resident_mb(void)
{
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    if (f) fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

void system_metrics_take(SystemMetrics *m)
{
    struct rusage u;
    double now = clock_seconds(), cpu = m->cpu_seconds;
    if (!getrusage(RUSAGE_SELF, &u)) cpu = seconds_of(u.ru_utime) + seconds_of(u.ru_stime);
    double passed = now - m->seconds;
    m->cpu_percent = m->seconds > 0 && passed > 0 ? 100 * (cpu - m->cpu_seconds) / passed : 0;
    m->seconds = now;
    m->cpu_seconds = cpu;
    m->memory_mb = resident_mb();
}
