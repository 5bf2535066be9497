/* all_schedules.c - the list of all pipeline schedules. */
#include "exec/schedules/schedule_def.h"

/* clang-format off */
#define LIST(SCHEDULE) \
    SCHEDULE(gpipe) \
    SCHEDULE(one_f_one_b) \
    SCHEDULE(interleaved) \
    SCHEDULE(looped_bfs) \
    SCHEDULE(interleaved_zero_bubble) \
    SCHEDULE(zero_bubble_v) \
    SCHEDULE(dual_pipe_v)
/* clang-format on */

#define DECLARE(name) extern const ScheduleDef schedule_##name;
#define POINTER(name) &schedule_##name,
LIST(DECLARE)
static const ScheduleDef *const schedules[] = { LIST(POINTER) NULL };

const ScheduleDef *schedule_def_at(int i)
{
    return schedules[i];
}
