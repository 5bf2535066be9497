/* test_free_memory.c - how much memory can be had: what the kernel says, within every limit. */
#include "base/memory.h"
#include "test.h"
#include <stdlib.h>
#include <sys/resource.h>

static size_t within(int resource, rlim_t limit)
{
    struct rlimit before, now;
    assert_int_equal(getrlimit(resource, &before), 0);
    now = (struct rlimit){ limit, before.rlim_max };
    assert_int_equal(setrlimit(resource, &now), 0);
    size_t available = memory_available();
    assert_int_equal(setrlimit(resource, &before), 0);
    return available;
}

TEST(free_memory_is_what_the_kernel_says_within_the_limits)
{
    unsetenv("MODALITIES_MEMORY_LIMIT");
    assert_in_range(memory_available(), 1 << 20, SIZE_MAX);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they need more */
    enum { LITTLE = 64 << 20 };
    assert_in_range(within(RLIMIT_DATA, LITTLE), 1, LITTLE);
    assert_in_range(within(RLIMIT_AS, LITTLE), 1, LITTLE);
#else
    (void)within;
#endif
    setenv("MODALITIES_MEMORY_LIMIT", "12345", 1);
    assert_int_equal(memory_available(), 12345);
}
