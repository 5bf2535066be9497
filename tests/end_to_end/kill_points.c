/* kill_points.c - events spread evenly over those of a run. */
#include "end_to_end/kill_points.h"
#include "base/clock.h"
#include "base/rng.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool is_long_kill_test(void)
{
    const char *form = getenv("KILL_TEST");
    return form && !strcmp(form, "long");
}

uint64_t kill_seed(void)
{
    const char *set = getenv("KILL_TEST_SEED");
    uint64_t seed = set ? strtoull(set, NULL, 10) : (uint64_t)(clock_seconds() * 1e6);
    printf("KILL_TEST_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    return seed;
}

int kill_points(int n)
{
    int most = is_long_kill_test() ? KILL_POINTS : 1;
    return n < most ? n : most;
}

/* One of each of as many equal stretches as there are points. */
int kill_point(uint64_t seed, int i, int n)
{
    if (!is_long_kill_test()) return (n * 2 + 2) / 3;
    double at = (i + rng_uniform(seed, (uint64_t)i)) * n / kill_points(n);
    return 1 + (int)at;
}

void kill_progress(const char *name, const char *kind, int i, int n)
{
    if (!is_long_kill_test()) return;
    printf("%s: %s %d of %d\n", name, kind, i, n);
    fflush(stdout);
}
