/* test_schedule.c - schedules as data: order, live microbatches, and what is refused. */
#include "exec/schedule.h"
#include "test.h"

enum { F = 1 << FORWARD, B = 1 << BACKWARD_INPUT, W = 1 << BACKWARD_WEIGHT };

TEST(accumulation_needs_memory_for_one_microbatch)
{
    Arena *a = arena_new();
    Schedule s = schedule_accumulate(a, 5);
    assert_int_equal(s.n, 12);
    assert_int_equal(schedule_live(&s, 0), 1);
    assert_no_error(schedule_verify(&s, 1, 5));
    arena_free(a);
}

TEST(a_zero_bubble_schedule_of_two_stages_is_expressible)
{
    Action action[] = { { F, 0, 0 },          { F, 1, 0 },         { F, 0, 1 }, { B, 1, 0 },
                        { F, 1, 1 },          { B, 0, 0 },         { W, 1, 0 }, { B, 1, 1 },
                        { W, 0, 0 },          { B, 0, 1 },         { W, 1, 1 }, { W, 0, 1 },
                        { RUN_REDUCE, 0, 0 }, { RUN_UPDATE, 0, 0 } };
    Schedule s = { action, 14 };
    assert_no_error(schedule_verify(&s, 2, 2));
    assert_int_equal(schedule_live(&s, 0), 2);
    Action first = action[0];
    action[0] = action[1];
    action[1] = first;
    assert_error_has(schedule_verify(&s, 2, 2),
                     "forward of microbatch 0 on stage 1 is out of turn");
}

TEST(an_update_before_all_work_is_refused)
{
    Action action[] = { { F, 0, 0 }, { B, 0, 0 }, { RUN_REDUCE, 0, 0 } };
    Schedule s = { action, 3 };
    assert_error_has(schedule_verify(&s, 1, 1), "before all microbatches are done");
    assert_error_has(schedule_verify(&(Schedule){ &(Action){ F, 2, 0 }, 1 }, 1, 1), "stage 2");
}
