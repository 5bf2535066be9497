/* measure.h - clocks, limits of the machine, and whether somebody else was using it. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H
#include "base/error.h"
#include <stdbool.h>
#include <stdio.h>

/* Says what is wrong and ends the program, unless e is NULL. */
void die(Error *e);

/* Processor time of the calling thread, in seconds: does not count time in which others ran. */
double thread_seconds(void);
/* The same of this process and its ended children, in their own code and in the system. */
double process_seconds(void);

/* Memory of its own pages, all touched; for munmap. Ends the program where there is none. */
void *fresh_bytes(size_t bytes);
/* Bytes/s at which so many threads read these once, each its part: the best of plain loads and of
 * loads that ask for what comes next, at several distances. */
double read_rate(const void *data, size_t bytes, int n_threads);
/* Bytes/s that one core reads from memory; the best of a few short runs. */
double peak_read_bytes(void);

/* Starts watching, and says what share of the machine other programs took since then. */
typedef struct Watch {
    double busy, own, total;
} Watch;
Watch watch_start(void);
double watch_others(const Watch *since);
/* Prints "others used 12 % of the machine" if that was more than a little. */
void watch_report(const Watch *since);
/* Another program that is measured in turn with this one, line by line. */
typedef struct Peer {
    FILE *in, *out;
    int pid;
} Peer;
/* Starts "$PYTHON ARGS...", or python3; `args` ends with NULL. False if pipes cannot be made. */
bool peer_start(Peer *p, const char *const *args);
/* Whether it says something within so many seconds; all that it said before must have been read. */
bool peer_answers(const Peer *p, double seconds);
void peer_stop(Peer *p);
/* The same, whatever it is doing. */
void peer_kill(Peer *p);

#endif
