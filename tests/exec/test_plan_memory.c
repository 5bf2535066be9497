/* test_plan_memory.c - memory by lifetimes: what is alive together lies apart, and schedules with
 * several microbatches in flight give the bits of plain accumulation. */
#include "base/str.h"
#include "exec/plan_memory.h"
#include "passes/all_passes.h"
#include "passes/precision.h"
#include "passes/recompute.h"
#include "passes/tiny_model.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

enum { F = 1 << FORWARD, B = 1 << BACKWARD_INPUT, W = 1 << BACKWARD_WEIGHT, N_BLOCKS = 200 };

static uint64_t draw(uint64_t *seed, uint64_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % n;
}

static bool at(const Block *b, int64_t moment, int64_t node)
{
    for (int64_t i = 0; i < b->n_spans; i++)
        if (b->span[i].moment == moment && b->span[i].from <= node && node <= b->span[i].to)
            return true;
    return false;
}

static bool together(const Block *a, const Block *b)
{
    for (int64_t i = 0; i < a->n_spans; i++)
        if (at(b, a->span[i].moment, a->span[i].from)) return true;
    for (int64_t i = 0; i < b->n_spans; i++)
        if (at(a, b->span[i].moment, b->span[i].from)) return true;
    return false;
}

static size_t alive_bytes(const Block *b, int64_t moment, int64_t node)
{
    size_t bytes = 0;
    for (int i = 0; i < N_BLOCKS; i++) bytes += at(&b[i], moment, node) ? b[i].bytes : 0;
    return bytes;
}

/* The blocks that are told are those of the peak. */
static void check_told(Block *b, size_t most)
{
    const MemoryPlan m = { .block = b, .n_blocks = N_BLOCKS };
    char *told = NULL, bytes[32];
    size_t size = 0;
    FILE *f = open_memstream(&told, &size);
    assert_non_null(f);
    memory_print(&m, 0, f);
    fclose(f);
    format_bytes((double)most, bytes);
    assert_contains(told, bytes);
    free(told);
}

static void check_blocks(int n_moments, double room)
{
    Block b[N_BLOCKS];
    Span span[N_BLOCKS][4];
    uint64_t seed = 1;
    for (int i = 0; i < N_BLOCKS; i++) {
        b[i] = (Block){ .bytes = 1 + draw(&seed, 5000), .span = span[i] };
        for (int m = 0; m < n_moments; m++) {
            if (n_moments > 1 && draw(&seed, 2)) continue;
            Span *s = &span[i][b[i].n_spans++];
            *s = (Span){ .moment = m, .from = (int64_t)draw(&seed, 100) };
            s->to = draw(&seed, 20) ? s->from + (int64_t)draw(&seed, 20) : WHOLE_MOMENT;
        }
        if (!b[i].n_spans) i--;
    }
    size_t total = place_blocks(b, N_BLOCKS), most = 0;
    for (int m = 0; m < n_moments; m++)
        for (int t = 0; t < 120; t++)
            if (alive_bytes(b, m, t) > most) most = alive_bytes(b, m, t);
    for (int i = 0; i < N_BLOCKS; i++)
        for (int j = 0; j < i; j++) {
            bool apart = b[i].offset + (int64_t)b[i].bytes <= b[j].offset ||
                         b[j].offset + (int64_t)b[j].bytes <= b[i].offset;
            assert_true(!together(&b[i], &b[j]) || apart);
        }
    assert_true(total >= most && (double)total < (double)most * room);
    check_told(b, most);
}

TEST(blocks_alive_together_never_overlap)
{
    check_blocks(1, 1.25);
}
TEST(blocks_alive_together_in_any_moment_never_overlap)
{
    check_blocks(4, 1.6);
}

enum { N = 4 };

/* F and B of microbatches 0 to 3 as they are done, one letter and one digit each; B without a W in
 * the text does both. */
static Schedule schedule_of(Arena *a, const char *text)
{
    bool is_split = strchr(text, 'W') != NULL;
    Schedule s = { .action = NEW_N(a, Action, 3 * N + 2) };
    for (const char *p = text; *p; p += 2) {
        unsigned phases = *p == 'F' ? F : *p == 'W' ? W : is_split ? B : B | W;
        s.action[s.n++] = (Action){ .phases = phases, .microbatch = p[1] - '0' };
    }
    s.action[s.n++] = (Action){ .phases = RUN_REDUCE };
    assert_no_error(schedule_verify(&s, 1, N));
    return s;
}

static TinyRun run_schedule(const char *text, PassList *passes, double *loss)
{
    Gpt2Settings settings = tiny_settings(false);
    settings.dropout = 0.25;
    Arena *a = arena_new();
    Schedule s = schedule_of(a, text);
    TinyRun t = tiny_run_make(
        &(TinyChoice){ .settings = &settings, .passes = passes, .training = true, .schedule = &s });
    assert_no_error(store_clear_gradients(t.store));
    for (int64_t i = 0; i < s.n; i++) {
        const Action *x = &s.action[i];
        if (x->phases & F) tiny_feed(&t, x->microbatch);
        assert_no_error(program_run(t.program, x, &t.now));
    }
    assert_no_error(program_wait(t.program));
    for (int m = 0; m < N; m++) loss[m] = program_scalar(t.program, "loss", m);
    arena_free(a);
    return t;
}

/* The losses and gradients of plain accumulation, to the bit. */
static void check_schedule(const char *text, int n_live, PassList *passes)
{
    double plain_loss[N], loss[N];
    TinyRun plain = run_schedule("F0B0F1B1F2B2F3B3", passes, plain_loss);
    TinyRun t = run_schedule(text, passes, loss);
    Arena *a = arena_new();
    Schedule s = schedule_of(a, text);
    assert_int_equal(schedule_live(&s, 0), n_live);
    assert_int_equal(timeline_new(a, &s, 1)->n_slots, n_live);
    arena_free(a);
    for (int m = 0; m < N; m++) assert_true(loss[m] == plain_loss[m] && loss[m] > 0);
    for (int m = 1; m < N; m++) assert_true(loss[m] != loss[0]);
    assert_true(tiny_gradient_difference(&plain, &t) == 0);
    if (n_live == 1)
        assert_int_equal(program_bytes(t.program), program_bytes(plain.program));
    else
        assert_true(program_bytes(t.program) > program_bytes(plain.program));
    tiny_run_free(&plain);
    tiny_run_free(&t);
}

static void check_schedules(PassList *passes)
{
    check_schedule("F0B0W0F1B1W1F2B2W2F3B3W3", 1, passes);
    check_schedule("F0F1B0F2B1F3B2B3", 2, passes);         /* 1F1B, first of two stages */
    check_schedule("F0F1F2B0F3B1B2B3", 3, passes);         /* of three */
    check_schedule("F0F1F2F3B0B1B2B3", 4, passes);         /* GPipe */
    check_schedule("F0F1F2B0B1B2F3B3W0W1W2W3", 4, passes); /* all W delayed */
    check_schedule("F0F1B0F2B1W0F3W1B2W2B3W3", 3, passes); /* zero bubble */
}

TEST(microbatches_in_flight_do_not_touch_each_other)
{
    check_schedules(NULL);
}
TEST(microbatches_in_flight_with_recomputation_in_bf16_do_not_touch_each_other)
{
    static const Precision in_bf16 = { .compute = BF16 };
    static const Recompute every_second = { .every = 2 };
    PassList list = { .arena = arena_new() };
    passes_add(&list, pass_find("precision"), &in_bf16);
    passes_add(&list, pass_find("recompute"), &every_second);
    passes_add(&list, pass_find("fuse"), NULL);
    check_schedules(&list);
    arena_free(list.arena);
}

/* Everything that the map promises is used, and nothing beyond it. */
static void check_touched(const char *text)
{
    Gpt2Settings settings = tiny_settings(true);
    Arena *a = arena_new();
    Schedule s = schedule_of(a, text);
    TinyRun t = tiny_run_make(&(TinyChoice){ .settings = &settings, .schedule = &s });
    enum { BEYOND = 4096, CANARY = 0xA7 };
    size_t planned = program_bytes(t.program), bytes;
    assert_no_error(store_reserve(t.store, planned + BEYOND));
    unsigned char *block = (unsigned char *)store_workspace(t.store, &bytes);
    memset(block, CANARY, bytes);
    for (int64_t i = 0; i < s.n; i++) {
        if (s.action[i].phases & F) tiny_feed(&t, s.action[i].microbatch);
        assert_no_error(program_run(t.program, &s.action[i], &t.now));
    }
    assert_no_error(program_wait(t.program));
    size_t last = 0;
    for (size_t i = 0; i < bytes; i++)
        if (block[i] != CANARY) last = i + 1;
    assert_true(last <= planned && last + 64 > planned);
    tiny_run_free(&t);
    arena_free(a);
}

TEST(the_memory_map_is_what_a_schedule_touches)
{
    check_touched("F0B0F1B1F2B2F3B3");
    check_touched("F0F1B0F2B1F3B2B3");
    check_touched("F0F1F2F3B0B1B2B3");
    check_touched("F0F1F2B0B1B2F3B3W0W1W2W3");
}

/* Sixty-four microbatches come by the same few moments. */
TEST(a_long_schedule_has_few_moments)
{
    Arena *a = arena_new();
    Schedule s = schedule_accumulate(a, 64);
    Timeline *t = timeline_new(a, &s, 1);
    assert_int_equal(t->n_slots, 1);
    assert_int_equal(t->n, 5); /* PREPARE F B R U */
    arena_free(a);
}
