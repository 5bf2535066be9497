/* test_pipeline_schedule.c - the lists of pipeline ranks against closed formulas and published
 * figures, and what the checker finds. */
#include "exec/pipeline_schedule.h"
#include "exec/schedules/schedule_def.h"
#include "generated.h"
#include "test.h"
#include <stdlib.h>

static PipelineSchedule *schedule(Arena *a, const char *name, int ranks, int per_rank, int64_t n)
{
    PipelineSchedule *p = NULL;
    assert_no_error(pipeline_schedule_new(a, name, &(PipelineShape){ ranks, per_rank, n }, &p));
    return p;
}

/* In percent, with the costs of a whole rank and a transfer; what may run side by side does, as in
 * the published table. */
static double bubble(const PipelineSchedule *p, StageCosts whole, double transfer)
{
    Arena *a = arena_new();
    StageCosts *each = NEW_N(a, StageCosts, p->n_stages);
    double n = p->shape.per_rank;
    for (int i = 0; i < p->n_stages; i++)
        each[i] =
            (StageCosts){ whole.forward / n, whole.backward_input / n, whole.backward_weight / n };
    PipelineRun run;
    PipelineCosts costs = { .stage = each, .transfer = transfer, .side_by_side = true };
    assert_no_error(pipeline_simulate(a, p, &costs, &run));
    double percent = 100 * run.bubble;
    arena_free(a);
    return percent;
}

static const StageCosts equal = { 1, 1, 1 };

TEST(gpipe_and_1f1b_have_the_bubble_and_memory_of_their_formulas)
{
    for (int p = 2; p <= 16; p++)
        for (int64_t m = 1; m <= 64; m++) {
            Arena *a = arena_new();
            PipelineSchedule *g = schedule(a, "GPipe", p, 1, m), *f = schedule(a, "1F1B", p, 1, m);
            double formula = 100.0 * (p - 1) / (double)(m + p - 1);
            assert_close(bubble(g, equal, 0), formula, 1e-9);
            assert_close(bubble(f, equal, 0), formula, 1e-9);
            for (int r = 0; r < p; r++) {
                assert_int_equal(pipeline_live(g, r), m);
                assert_int_equal(pipeline_live(f, r), m < p - r ? m : p - r);
            }
            arena_free(a);
        }
}

/* Closed for whole rounds: a bubble per_rank times smaller than that of 1F1B. */
TEST(interleaved_1f1b_has_the_bubble_and_memory_of_its_formulas)
{
    int64_t n = 0;
    for (int p = 2; p <= 16; p++)
        for (int v = 2; p * v <= 16 || v <= 4; v++)
            for (int64_t m = p; m <= 64; m += p) {
                Arena *a = arena_new();
                PipelineSchedule *x = schedule(a, "Interleaved1F1B", p, v, m);
                assert_close(bubble(x, equal, 0), 100.0 * (p - 1) / (double)(m * v + p - 1), 1e-9);
                for (int r = 0; r < p; r++) {
                    int64_t live = (v - 1) * p + 2 * (p - 1 - r) + 1;
                    assert_int_equal(pipeline_live(x, r), live < m * v ? live : m * v);
                }
                arena_free(a);
                n++;
            }
    test_note("%lld schedules", (long long)n);
}

/* The published table: F, I and W take 1 for a whole rank, transfers nothing. */
TEST(bubbles_are_those_of_the_table_for_equal_costs)
{
    static const struct {
        const char *name;
        int per_rank;
        double percent[6];
    } column[] = {
        { "1F1B", 1, { 27.3, 15.8, 8.6, 30.4, 17.9, 9.9 } },
        { "LoopedBFS", 2, { 15.8, 8.6, 4.5, 17.9, 9.9, 5.2 } },
        { "Interleaved1F1B", 2, { 15.8, 8.6, 4.5, 17.9, 9.9, 5.2 } },
        { "Interleaved1F1B", 4, { 8.6, 4.5, 2.3, 9.9, 5.2, 2.7 } },
        { "InterleavedZeroBubble", 1, { 11.1, 5.9, 3.0, 12.7, 6.8, 3.5 } },
        { "InterleavedZeroBubble", 2, { 5.9, 3.0, 1.5, 6.8, 3.5, 1.8 } },
        { "ZBVZeroBubble", 2, { 5.9, 3.0, 1.5, 6.8, 3.5, 1.8 } },
        { "DualPipeV", 2, { 11.1, 5.9, 3.0, 12.7, 6.8, 3.5 } },
    };
    static const int ranks[] = { 4, 4, 4, 8, 8, 8 };
    static const int64_t microbatches[] = { 8, 16, 32, 16, 32, 64 };
    Arena *a = arena_new();
    for (size_t c = 0; c < sizeof column / sizeof *column; c++)
        for (int i = 0; i < 6; i++) {
            PipelineSchedule *p =
                schedule(a, column[c].name, ranks[i], column[c].per_rank, microbatches[i]);
            assert_close(bubble(p, equal, 0), column[c].percent[i], 0.0501);
        }
    arena_free(a);
}

TEST(bubbles_are_those_of_the_table_for_unequal_costs_and_transfers)
{
    static const struct {
        const char *name;
        int per_rank;
        double percent[3];
    } column[] = {
        { "1F1B", 1, { 20.3, 20.2, 20.0 } },
        { "Interleaved1F1B", 2, { 11.1, 11.1, 11.0 } },
        { "Interleaved1F1B", 4, { 8.0, 7.9, 7.7 } },
        { "InterleavedZeroBubble", 1, { 8.0, 10.7, 12.4 } },
        { "InterleavedZeroBubble", 2, { 5.2, 6.6, 7.5 } },
        { "ZBVZeroBubble", 2, { 5.1, 5.9, 7.6 } },
    };
    static const StageCosts costs[] = { { 1, 1, 1 }, { 1, 1.3, 0.8 }, { 1, 1.7, 0.7 } };
    Arena *a = arena_new();
    for (size_t c = 0; c < sizeof column / sizeof *column; c++)
        for (int i = 0; i < 3; i++) {
            PipelineSchedule *p = schedule(a, column[c].name, 8, column[c].per_rank, 32);
            assert_close(bubble(p, costs[i], 0.05), column[c].percent[i], 0.0501);
        }
    arena_free(a);
}

/* The largest over the ranks, in activations of a whole rank. */
static double peak(const PipelineSchedule *p)
{
    int64_t most = 0;
    for (int r = 0; r < p->shape.ranks; r++)
        if (pipeline_live(p, r) > most) most = pipeline_live(p, r);
    return (double)most / p->shape.per_rank;
}

/* One after the other, the later action does not hold up the results of the earlier one. */
TEST(side_by_side_costs_a_bubble_where_nothing_is_hidden)
{
    Arena *a = arena_new();
    PipelineSchedule *p = schedule(a, "DualPipeV", 4, 2, 8);
    PipelineCosts costs = pipeline_equal_costs(a, p, 1);
    PipelineRun run;
    assert_no_error(pipeline_simulate(a, p, &costs, &run));
    assert_close(100 * run.bubble, 5.9, 0.0501);
    assert_close(bubble(p, equal, 0), 11.1, 0.0501);
    arena_free(a);
}

TEST(activations_are_those_of_the_table)
{
    static const struct {
        const char *name;
        int per_rank;
        double peak;
    } column[] = {
        { "1F1B", 1, 8 },
        { "Interleaved1F1B", 2, 11.5 },
        { "Interleaved1F1B", 4, 9.75 },
        { "LoopedBFS", 2, 0 },
        { "InterleavedZeroBubble", 1, 8 },
        { "InterleavedZeroBubble", 2, 8 },
        { "ZBVZeroBubble", 2, 8 },
        { "DualPipeV", 2, 8.5 },
    };
    Arena *a = arena_new();
    for (size_t c = 0; c < sizeof column / sizeof *column; c++)
        for (int64_t m = 16; m <= 32; m += 8) {
            PipelineSchedule *p = schedule(a, column[c].name, 8, column[c].per_rank, m);
            assert_close(peak(p), column[c].peak ? column[c].peak : (double)m, 0);
        }
    arena_free(a);
}

/* Gradients of weights are added up in the order of the microbatches, whatever the schedule: so
 * sums have the same bits. */
static void check_order(const PipelineSchedule *p)
{
    Arena *a = arena_new();
    int64_t *next = NEW_N(a, int64_t, p->n_stages);
    for (int r = 0; r < p->shape.ranks; r++)
        for (int64_t i = 0; i < p->rank[r].n; i++) {
            const Action *x = &p->rank[r].action[i];
            if (x->phases >> BACKWARD_WEIGHT & 1) assert_int_equal(x->microbatch, next[x->stage]++);
        }
    arena_free(a);
}

TEST(every_schedule_of_every_shape_is_whole_and_ends)
{
    int64_t n = 0;
    for (int i = 0; schedule_def_at(i); i++) {
        const ScheduleDef *d = schedule_def_at(i);
        for (int p = 1; p <= 8; p++)
            for (int v = 1; v <= 4; v++) {
                if (d->per_rank && d->per_rank != v) continue;
                int64_t least = d->microbatches_per_rank * p;
                for (int64_t m = least ? least : 1; m <= 40; m++, n++) {
                    Arena *a = arena_new();
                    check_order(schedule(a, d->name, p, v, m));
                    arena_free(a);
                }
            }
    }
    test_note("%lld schedules", (long long)n);
}

static void refuses(const char *name, PipelineShape s, const char *text)
{
    Arena *a = arena_new();
    PipelineSchedule *p = NULL;
    Error *e = pipeline_schedule_new(a, name, &s, &p);
    assert_non_null(e);
    assert_int_equal(error_exit_status(e), 2);
    assert_string_equal(error_text(e), text);
    error_free(e);
    arena_free(a);
}

TEST(what_a_schedule_cannot_do_is_refused_with_the_numbers_and_what_can)
{
    refuses(
        "2F2B", (PipelineShape){ 2, 1, 4 },
        "there is no pipeline schedule 2F2B; there are GPipe, 1F1B, Interleaved1F1B, LoopedBFS, "
        "InterleavedZeroBubble, ZBVZeroBubble, DualPipeV");
    refuses("1f1b", (PipelineShape){ 4, 3, 8 },
            "the pipeline schedule 1F1B runs 1 stage on each rank, not 3 (12 stages on 4 ranks); "
            "Interleaved1F1B, LoopedBFS, InterleavedZeroBubble run so many");
    refuses("zbvzerobubble", (PipelineShape){ 4, 1, 8 },
            "the pipeline schedule ZBVZeroBubble runs 2 stages on each rank, not 1 (4 stages on 4 "
            "ranks); GPipe, 1F1B, Interleaved1F1B, LoopedBFS, InterleavedZeroBubble run so many");
    refuses(
        "DualPipeV", (PipelineShape){ 4, 2, 7 },
        "the pipeline schedule DualPipeV needs at least 8 microbatches on 4 ranks (2 for each), "
        "not 7");
    refuses(
        "GPipe", (PipelineShape){ 4, 1, 0 },
        "a pipeline of 4 ranks with 1 stages on each and 0 microbatches: there must be at least "
        "one of each");
}

/* Two ranks of 1F1B with something wrong in their lists. */
static void breaks(int rank, int64_t a, int64_t b, const char *part)
{
    Arena *arena = arena_new();
    PipelineSchedule *p = schedule(arena, "1F1B", 2, 1, 4);
    Action *list = p->rank[rank].action, kept = list[a];
    list[a] = list[b];
    list[b] = kept;
    assert_error_has(pipeline_schedule_verify(p), part);
    arena_free(arena);
}

TEST(the_checker_finds_what_is_out_of_turn_and_who_waits_for_ever)
{
    /* rank 0: F0 F1 B0 F2 B1 F3 B2 B3; rank 1: F0 B0 F1 B1 F2 B2 F3 B3 */
    breaks(0, 0, 2, "rank 0 waits for the gradients of microbatch 0 from stage 1\n");
    breaks(0, 0, 2, "rank 1 waits for the activations of microbatch 0 from stage 0");
    breaks(1, 0, 1, "backward_input of microbatch 0 on stage 1 is out of turn");
    breaks(0, 2, 3, "rank 0 holds up to 3 activations, but should hold at most 2");
}

TEST(the_checker_finds_what_is_missing_twice_there_or_elsewhere)
{
    Arena *a = arena_new();
    PipelineSchedule *p = schedule(a, "1F1B", 2, 1, 4);
    Action *last = &p->rank[1].action[7], kept = *last;
    last->phases = 0;
    assert_error_has(pipeline_schedule_verify(p), "rank 0 waits for the gradients of microbatch 3");
    *last = p->rank[1].action[5];
    assert_error_has(pipeline_schedule_verify(p), "rank 0 waits for");
    *last = kept;
    last->stage = 0;
    assert_error_has(pipeline_schedule_verify(p),
                     "pipeline schedule 1F1B with 1 stages on each of 2 ranks and 4 microbatches: "
                     "action 7 of rank 1 is for stage 0, which is not on this rank");
    arena_free(a);
}

/* tests/golden/schedules has pictures of all schedules, as many as fit a page. */
static void check_picture(Arena *a, const char *name, int per_rank, int64_t n, int width)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    assert_no_error(pipeline_print(schedule(a, name, 4, per_rank, n), width, f));
    fclose(f);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true((int)strcspn(line, "\n") <= width);
    const char *path = arena_printf(a, "tests/golden/schedules/%s_%d.txt", name, per_rank);
    assert_generated(path, text);
    free(text);
}

TEST(pictures_of_schedules_are_those_on_file)
{
    Arena *a = arena_new();
    for (int i = 0; schedule_def_at(i); i++) {
        const ScheduleDef *d = schedule_def_at(i);
        int per_rank = d->per_rank ? d->per_rank : 2;
        check_picture(a, d->name, per_rank, 8, 100);
    }
    check_picture(a, "InterleavedZeroBubble", 1, 12, 80);
    check_picture(a, "Interleaved1F1B", 4, 6, 120);
    arena_free(a);
}

/* A page shows what the program prints. */
TEST(pictures_of_the_docs_are_those_on_file)
{
    static const char *const names[] = { "GPipe_1",
                                         "1F1B_1",
                                         "Interleaved1F1B_2",
                                         "LoopedBFS_2",
                                         "InterleavedZeroBubble_1",
                                         "ZBVZeroBubble_2",
                                         "DualPipeV_2" };
    Arena *a = arena_new();
    Str page, picture;
    assert_no_error(file_read(a, "docs/parallelism.md", &page));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = arena_printf(a, "tests/golden/schedules/%s.txt", names[i]);
        assert_no_error(file_read(a, path, &picture));
        assert_contains(page.ptr, picture.ptr);
    }
    arena_free(a);
}
