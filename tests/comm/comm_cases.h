/* comm_cases.h - what every transport must do, as each of its ranks tries it. */
#ifndef TESTS_COMM_CASES_H
#define TESTS_COMM_CASES_H
#include "comm/comm.h"

/* All calls with all dtypes and many sizes; all ranks of the group call it. `n_max` is the largest
 * number of elements per call. */
Error *comm_cases_calls(Comm *c, int64_t n_max);
/* Messages in rings, to itself, in odd orders, early and late, large and empty. */
Error *comm_cases_exchange(Comm *c, size_t largest);
/* Groups of rows, columns and reversed ranks, each of which passes the calls, and groups of groups.
 */
Error *comm_cases_groups(Comm *c);
#endif
