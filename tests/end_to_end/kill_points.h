/* kill_points.h - where tests kill a command: at which events of the file system.
 *
 * The short form kills at one event of each kind. KILL_TEST=long (`make kill-test`): at KILL_POINTS
 * of each kind, spread evenly over all of them; drawn with a seed that is printed, KILL_TEST_SEED
 * repeats it. */
#ifndef TESTS_KILL_POINTS_H
#define TESTS_KILL_POINTS_H
#include <stdbool.h>
#include <stdint.h>

enum { KILL_POINTS = 40, KILL_MOMENTS = 20 };

bool is_long_kill_test(void);
/* Prints the seed. */
uint64_t kill_seed(void);
/* How many of n events are points; and point i of them, an event from 1 to n. */
int kill_points(int n);
int kill_point(uint64_t seed, int i, int n);
/* In the long form, shows how far the kills of a case are. */
void kill_progress(const char *name, const char *kind, int i, int n);
#endif
