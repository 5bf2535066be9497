/* program_times.h - when nodes begin and end, noted beside them, so that streams go on as they
 * would; for the files of exec that run a program. */
#ifndef EXEC_PROGRAM_TIMES_H
#define EXEC_PROGRAM_TIMES_H
#include "exec/program_parts.h"

/* What is to be launched in place of `l` where there is no Device.stamp: the same work, which also
 * notes its times. Changes *kernel. */
const Launch *times_launch(Program *p, const Step *s, const Launch *l, Kernel **kernel);
/* The launch that this one stands for: itself, if it notes no times. */
const Launch *times_launch_of(const Program *p, const Launch *l);
/* Around what is given to the stream of `l` where there is Device.stamp, or around the
 * computation's wait for step `s`, of another stream. */
Error *times_begin(Program *p, const Step *s, const Launch *l);
Error *times_begin_wait(Program *p, const Step *s, const Launch *l);
Error *times_end(Program *p);
/* Tells of all that has ended; a device with stamps is waited for. */
Error *times_tell(Program *p);
void times_free(Program *p);

#endif
