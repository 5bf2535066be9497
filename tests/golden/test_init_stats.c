/* test_init_stats.c - the rule of every parameter against the original's, and samples against the
 * rule. */
#include "base/log.h"
#include "components.h"
#include "exec/store.h"
#include "golden.h"
#include "golden/compare.h"
#include "train/session.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

GOLDEN_CASES(init_cases)
{
    golden_add_files(to, "models/init_stats/", "models/init_stats", "*", NULL);
}

/* One line of init_stats.csv. */
typedef struct Row {
    const char *param, *rule;
    double mean, std, lower, upper; /* as given to the rule; not given: NaN */
    double expected_std;            /* after truncation */
} Row;

enum { PARAM, SHAPE, NUMEL, RULE, MEAN, STD, LOWER, UPPER, EXPECTED_STD, N_COLUMNS };

static double number(const char *cell)
{
    char *end;
    double x = strtod(cell, &end);
    assert_int_equal(*end, '\0');
    return *cell ? x : NAN;
}

static Row read_row(Arena *a, const char *line)
{
    const char *cell[N_COLUMNS];
    for (int i = 0; i < N_COLUMNS; i++) {
        size_t n = strcspn(line, ",\n");
        cell[i] = arena_string_n(a, line, n);
        assert_int_equal(line[n], ',');
        line += n + 1;
    }
    return (Row){ .param = cell[PARAM],
                  .rule = cell[RULE],
                  .mean = number(cell[MEAN]),
                  .std = number(cell[STD]),
                  .lower = number(cell[LOWER]),
                  .upper = number(cell[UPPER]),
                  .expected_std = number(cell[EXPECTED_STD]) };
}

static void assert_setting(const Row *r, const char *what, double got, double expected)
{
    assert_within(r->param, what, fabs(got - expected), 1e-12 * fabs(expected));
}

/* It keeps what its layer gave it. */
static bool is_left_alone(const Row *r)
{
    return !strcmp(r->rule, "not_initialised");
}

static void check_rule(const Row *r, const Init *init)
{
    static const struct {
        const char *name;
        InitKind kind;
    } kinds[] = { { "normal", INIT_NORMAL },
                  { "trunc_normal", INIT_TRUNCATED },
                  { "zeros", INIT_ZEROS },
                  { "ones", INIT_ONES } };
    if (is_left_alone(r)) return;
    int k = 0;
    while (k < 4 && strcmp(kinds[k].name, r->rule) != 0) k++;
    if (k == 4) fail_msg("%s: unknown rule %s", r->param, r->rule);
    if (init->kind != kinds[k].kind) fail_msg("%s should be %s", r->param, r->rule);
    if (init->kind != INIT_NORMAL && init->kind != INIT_TRUNCATED) return;
    assert_setting(r, "mean of the rule", init->mean, r->mean);
    assert_setting(r, "std of the rule", init->std, r->std);
    if (init->kind == INIT_NORMAL) return;
    assert_setting(r, "lower bound", init->low, r->lower);
    assert_setting(r, "upper bound", init->high, r->upper);
}

static void check_sample(const Row *r, const Tensor *t)
{
    double sum = 0, squares = 0, n = (double)tensor_count(t);
    if (is_left_alone(r)) return;
    for (int64_t i = 0; i < tensor_count(t); i++) {
        double x = dtype_get(t->dtype, t->data, i);
        sum += x;
        squares += (x - r->mean) * (x - r->mean);
        if (!isnan(r->lower) && !(x >= r->lower && x <= r->upper))
            fail_msg("%s[%lld] = %g lies outside of its bounds", r->param, (long long)i, x);
    }
    double mean = sum / n, variance = squares / n - (mean - r->mean) * (mean - r->mean);
    assert_within(r->param, "mean", fabs(mean - r->mean), 5 * r->expected_std / sqrt(n));
    assert_within(r->param, "std", fabs(sqrt(variance) - r->expected_std),
                  5 * r->expected_std / sqrt(2 * n));
}

static int64_t count_params(const ParamStore *s)
{
    int64_t n = 0;
    for (int64_t i = 0; i < store_count(s); i++) n += store_at(s, i)->kind == VALUE_PARAM;
    return n;
}

static void run_case(Arena *a, const char *name)
{
    const char *folder = shared_path(a, arena_printf(a, "data/goldens/%s", name));
    void *model;
    Session *s;
    Program *p;
    Str csv;
    assert_no_error(component_from_file(a, path_join(a, folder, "model.yaml"), (StringList){ 0 },
                                        "model", "model", &model));
    assert_no_error(session_new(&(SessionSettings){ .model = model, .n_threads = 1 }, &s));
    assert_no_error(session_inspection_program(s, NULL, false, 1, 1, &p));
    assert_no_error(store_initialize(session_store(s), 7));
    assert_no_error(file_read(a, path_join(a, folder, "init_stats.csv"), &csv));
    int64_t n = 0;
    for (const char *line = strchr(csv.ptr, '\n'); line && line[1];
         line = strchr(line + 1, '\n'), n++) {
        Row r = read_row(a, line + 1);
        const Stored *x = store_find(session_store(s), r.param);
        if (!x) fail_msg("%s: there is no parameter %s", name, r.param);
        check_rule(&r, &x->init);
        check_sample(&r, &x->tensor);
    }
    assert_int_equal(n, count_params(session_store(s)));
    session_free(s);
}

TEST(golden_init_stats)
{
    Arena *a = arena_new();
    GoldenCases cases = { .arena = a };
    init_cases(&cases);
    log_set_level(LOG_WARNING);
    int n = 0;
    for (int64_t i = 0; i < cases.n; i++) {
        if (golden_later(a, cases.name[i])) continue;
        run_case(a, cases.name[i]);
        n++;
    }
    assert_true(n >= 14);
    arena_free(a);
}
