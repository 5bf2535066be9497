/* clock.h - time for measurements and time stamps; never part of a result. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* Seconds of a clock that never jumps. */
double clock_seconds(void);
/* CPU seconds of the calling thread. */
double clock_thread_seconds(void);
/* Seconds since 1970, by the clock of the day. */
double clock_of_day(void);
/* Local time by strftime; `out` holds `size` bytes. */
void clock_format(const char *format, char *out, unsigned long size);
#endif
