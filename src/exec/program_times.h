/* program_times.h - when nodes begin and end, noted beside them, so that streams go on as they
 * would; for the files of exec that run a program. */
#ifndef EXEC_PROGRAM_TIMES_H
#define EXEC_PROGRAM_TIMES_H
#include "exec/program_parts.h"

/* What is to be launched in place of `l`: the same work, which also notes its times. Changes
 * *kernel. */
const Launch *times_launch(Program *p, const Step *s, const Launch *l, Kernel **kernel);
/* The launch that this one stands for: itself, if it notes no times. */
const Launch *times_launch_of(const Program *p, const Launch *l);
/* The computation waited from `begin` until now for step `s`, of another stream. */
void times_waited(Program *p, const Step *s, const Launch *l, double begin);
/* Tells of all that has ended. */
Error *times_tell(Program *p);

#endif
