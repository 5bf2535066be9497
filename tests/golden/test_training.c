/* test_training.c - whole training runs against the curves of the original. */
#include "base/log.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "components.h"
#include "golden.h"
#include "golden/compare.h"
#include "stored.h"
#include "train/crew.h"
#include "train/run.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const all_cases[] = {
    "a_onecycle",   "b_accum4_warmup_cosine", "c_llama_like", "d_dp2",        "d_dp4",
    "e_validation", "e_validation_dp2",       "f_warmstart",  "g_real_vocab", NULL
};

GOLDEN_CASES(training_cases)
{
    for (int i = 0; all_cases[i]; i++) {
        assert_true(is_directory(shared_path(
            to->arena, arena_printf(to->arena, "data/goldens/train/%s", all_cases[i]))));
        golden_add(to, "train/%s", all_cases[i]);
    }
}

/* ---- csv ---- */

typedef struct Csv {
    char **cell; /* row by row */
    int64_t n_rows, n_columns;
} Csv;

static Csv read_csv(Arena *a, const char *path)
{
    Str text;
    assert_no_error(file_read(a, path, &text));
    Csv c = { 0 };
    int64_t cap = 0, n = 0;
    for (char *line = (char *)text.ptr; *line;) {
        char *end = strchr(line, '\n');
        if (end) *end = 0;
        int64_t columns = 0;
        for (char *cell = line; cell; columns++) {
            char *comma = strchr(cell, ',');
            if (comma) *comma = 0;
            c.cell = arena_grow(a, c.cell, n, &cap, sizeof *c.cell);
            c.cell[n++] = cell;
            cell = comma ? comma + 1 : NULL;
        }
        if (!c.n_columns) c.n_columns = columns;
        assert_int_equal(columns, c.n_columns);
        c.n_rows++;
        if (!end) break;
        line = end + 1;
    }
    return c;
}

static const char *csv_text(const Csv *c, int64_t row, const char *column)
{
    for (int64_t k = 0; k < c->n_columns; k++)
        if (!strcmp(c->cell[k], column)) return c->cell[(row + 1) * c->n_columns + k];
    fail_msg("no column %s", column);
    return "";
}

static double csv_number(const Csv *c, int64_t row, const char *column)
{
    return atof(csv_text(c, row, column));
}

/* ---- one run ---- */

typedef struct Watch {
    Arena *arena;
    const char *name;
    Csv curve, order;
    int64_t n_steps, n_micro;
    Safetensors *final; /* unused until the last step */
    const Csv *final_stats;
    double worst_loss, worst_norm;
} Watch;

/* GOLDEN_STEPS: the first ones only, where each takes long. */
static int64_t most_steps(void)
{
    const char *set = getenv("GOLDEN_STEPS");
    return set ? atoll(set) : INT64_MAX;
}

static double relative(double x, double y)
{
    return fabs(x - y) / fabs(y);
}

static void watch_step(void *context, const StepReport *r)
{
    Watch *w = context;
    int64_t row = w->n_steps++;
    assert_int_equal(r->step, (int64_t)csv_number(&w->curve, row, "step"));
    double loss = 0, bound = row == 0 ? 1e-6 : row < 10 ? 1e-5 : 1e-4;
    for (int64_t m = 0; m < r->n_microbatches; m++) {
        loss += r->loss[m] / (double)r->n_microbatches;
        if (!w->order.n_rows) continue;
        double golden = csv_number(&w->order, w->n_micro++, "loss");
        assert_within(w->name, "loss of a microbatch", relative(r->loss[m], golden), 2e-4);
    }
    double d = relative(loss, csv_number(&w->curve, row, "loss"));
    w->worst_loss = fmax(w->worst_loss, d);
    assert_within(w->name, arena_printf(w->arena, "loss of step %lld", (long long)r->step), d,
                  bound);
    d = relative(r->grad_norm, csv_number(&w->curve, row, "grad_norm"));
    w->worst_norm = fmax(w->worst_norm, d);
    assert_within(w->name, "gradient norm", d, 2e-3);
    assert_within(w->name, "lr", fabs(r->lr - csv_number(&w->curve, row, "lr")), 1e-12);
    if (w->n_steps == most_steps()) raise(SIGTERM);
    if (w->n_steps < w->curve.n_rows - 1 || !w->final_stats) return;
    for (int64_t i = 0; i < w->final_stats->n_rows - 1; i++) { /* parameters after the last step */
        const char *name = csv_text(w->final_stats, i, "name");
        if (strstr(name, "k_attn.bias") || strstr(name, "inv_freq")) continue;
        const Stored *p = store_find(r->store, name);
        if (!p) fail_msg("%s: no parameter %s", w->name, name);
        double first[4], sum = 0, squares = 0, most = 0;
        int n = sscanf(csv_text(w->final_stats, i, "first4"), "%lf %lf %lf %lf", &first[0],
                       &first[1], &first[2], &first[3]);
        int64_t count = tensor_count(&p->tensor);
        const Tensor values = stored_view(w->arena, r->store, p);
        for (int64_t k = 0; k < count; k++) {
            double x = ((const float *)values.data)[k];
            sum += x;
            squares += x * x;
            most = fmax(most, fabs(x));
            if (k < n) assert_within(name, "first values", fabs(x - first[k]), 1e-4);
        }
        assert_within(name, "sum", fabs(sum - csv_number(w->final_stats, i, "sum")),
                      1e-4 * sqrt((double)count) + 1e-4);
        assert_within(name, "l2", fabs(sqrt(squares) - csv_number(w->final_stats, i, "l2")),
                      1e-4 * sqrt((double)count));
        assert_within(name, "absmax", fabs(most - csv_number(w->final_stats, i, "absmax")), 1e-4);
    }
}

static void check_evaluations(Arena *a, const char *name, const char *csv, const char *jsonl)
{
    Csv eval = read_csv(a, csv);
    Str text;
    assert_no_error(file_read(a, jsonl, &text));
    for (int64_t i = 0; i < eval.n_rows - 1; i++) {
        const char *line =
            strstr(text.ptr,
                   arena_printf(a, "{\"dataloader_tag\": \"%s\", \"num_train_steps_done\": %s,",
                                csv_text(&eval, i, "dataloader_tag"), csv_text(&eval, i, "step")));
        assert_non_null(line);
        const char *loss = strstr(line, "\"CLMCrossEntropyLoss\": ");
        assert_non_null(loss);
        assert_within(name, "evaluation loss",
                      relative(atof(loss + strlen("\"CLMCrossEntropyLoss\": ")),
                               csv_number(&eval, i, "loss64")),
                      1e-4);
    }
}

/* ---- weights by formula ---- */

static const char *formula_weights(Arena *a)
{
    const char *path = arena_printf(a, "%s/weights.safetensors", test_folder());
    Csv c = read_csv(a, shared_path(a, "data/goldens/train/g_real_vocab/initial_weights.csv"));
    NamedTensor *list = NEW_N(a, NamedTensor, c.n_rows);
    int64_t n = 0;
    for (int64_t i = 0; i < c.n_rows - 1; i++) {
        const char *name = csv_text(&c, i, "name"), *shape = csv_text(&c, i, "shape");
        Tensor t = { .dtype = F32 };
        for (const char *p = shape; *p; p += strspn(p, "x ")) {
            t.size[t.n_dims++] = strtol(p, NULL, 10);
            p += strspn(p, "0123456789");
        }
        int64_t count = tensor_count(&t);
        float *x = t.data = NEW_N(a, float, count);
        uint64_t h = 0xCBF29CE484222325u;
        for (const char *p = name; *p; p++) h = (h ^ (unsigned char)*p) * 0x100000001B3u;
        h ^= 1;
        size_t len = strlen(name);
        bool is_norm = len >= 11 && !strcmp(name + len - 11, "norm.weight");
        for (int64_t k = 0; k < count; k++) {
            uint64_t z = h + (uint64_t)(k + 1) * 0x9E3779B97F4A7C15u;
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
            z = (z ^ z >> 27) * 0x94D049BB133111EBu;
            z ^= z >> 31;
            int q = (int)(z >> 52) - 2048;
            x[k] = is_norm ? 1 + (float)q * 0x1p-14f : (float)q * 0x1p-16f;
        }
        if (!strstr(name, "inv_freq")) list[n++] = (NamedTensor){ name, t };
    }
    assert_no_error(safetensors_write(path, list, n));
    return path;
}

/* Trains as a case says, into the test's folder; the golden folder becomes the working directory.
 */
static void train(Arena *a, const char *config, RunSettings s)
{
    Registry *r;
    s.config_file_path = shared_path(a, arena_printf(a, "data/goldens/train/%s", config));
    s.experiments_root_path = test_folder();
    assert_int_equal(setenv("MODALITIES_SHARED", shared_path(a, ""), 1), 0);
    assert_int_equal(chdir(shared_path(a, "data/goldens/train")), 0);
    assert_no_error(components_registry(a, &r));
    Error *e = training_run(r, &s);
    if (e && most_steps() < INT64_MAX && error_exit_status(e) == EXIT_STOPPED) {
        error_free(e);
        e = NULL;
    }
    assert_no_error(e);
}

/* Trains a case and compares every step, the last parameters, and the evaluations. */
static void train_and_compare(Arena *a, const char *name, RunSettings s)
{
    const char *folder = shared_path(a, arena_printf(a, "data/goldens/train/%s", name));
    Csv final_stats = read_csv(a, path_join(a, folder, "final_stats.csv"));
    Watch w = { .arena = a,
                .name = name,
                .curve = read_csv(a, path_join(a, folder, "curve64.csv")),
                .order = read_csv(a, path_join(a, folder, "order.csv")),
                .final_stats = &final_stats };
    s.experiment_id = "run";
    s.observe = watch_step;
    s.observer = &w;
    train(a, arena_printf(a, "%s/config.yaml", name), s);
    const bool is_whole = most_steps() >= w.curve.n_rows - 1;
    assert_int_equal(w.n_steps, is_whole ? w.curve.n_rows - 1 : most_steps());
    const char *evaluations = path_join(a, folder, "eval.csv");
    if (is_whole && file_exists(evaluations))
        check_evaluations(a, name, evaluations,
                          path_join(a, test_folder(), "run/evaluation_results.jsonl"));
}

static void train_case(const char *name, const char *weights)
{
    Arena *a = arena_new();
    if (weights)
        weights =
            shared_path(a, arena_printf(a, "data/goldens/train/weights/%s.safetensors", weights));
    else
        weights = path_absolute(a, formula_weights(a));
    train_and_compare(a, name, (RunSettings){ .initial_weights_path = weights });
    arena_free(a);
}

/* ---- several ranks ---- */

enum { MOST_RANKS = 4, MOST_MICROBATCHES = 512 };

/* What one rank shows; looked at when all have ended. */
typedef struct RankRecord {
    double loss[MOST_MICROBATCHES], grad_norm[MOST_MICROBATCHES];
    int64_t n_losses, n_steps;
} RankRecord;

typedef struct RanksCase {
    const char *config, *weights;
    RankRecord of[MOST_RANKS];
} RanksCase;

static void note_step(void *context, const StepReport *r)
{
    RankRecord *to = context;
    for (int64_t m = 0; m < r->n_microbatches && to->n_losses < MOST_MICROBATCHES; m++)
        to->loss[to->n_losses++] = r->loss[m];
    to->grad_norm[to->n_steps++] = r->grad_norm;
}

static Error *train_rank(Arena *a, const void *context, const Crew *crew)
{
    const RanksCase *c = context;
    Registry *r;
    TRY(components_registry(a, &r));
    const RunSettings s = { .rank = crew->rank,
                            .crew = crew,
                            .config_file_path = c->config,
                            .experiments_root_path = test_folder(),
                            .experiment_id = "run",
                            .initial_weights_path = c->weights,
                            .observe = note_step,
                            .observer = (RankRecord *)&c->of[crew->rank->rank] };
    return training_run(r, &s);
}

static void compare_ranks(Arena *a, const RanksCase *c, const char *name, int64_t n)
{
    const char *folder = shared_path(a, arena_printf(a, "data/goldens/train/%s", name));
    const Csv curve = read_csv(a, path_join(a, folder, "curve64.csv")),
              order = read_csv(a, path_join(a, folder, "order.csv"));
    int64_t n_steps = curve.n_rows - 1, per_step = c->of[0].n_losses / n_steps;
    for (int64_t r = 0; r < n; r++) {
        assert_int_equal(c->of[r].n_steps, n_steps);
        assert_int_equal(c->of[r].n_losses, n_steps * per_step);
    }
    for (int64_t i = 0; i < order.n_rows - 1; i++) { /* each rank its own samples */
        int64_t rank = (int64_t)csv_number(&order, i, "rank"),
                step = (int64_t)csv_number(&order, i, "step") - 1,
                micro = (int64_t)csv_number(&order, i, "micro");
        double loss = c->of[rank].loss[step * per_step + micro % per_step];
        assert_within(name, "loss of a microbatch", relative(loss, csv_number(&order, i, "loss")),
                      2e-4);
    }
    for (int64_t i = 0; i < n_steps; i++) {
        double loss = 0, bound = i == 0 ? 1e-6 : i < 10 ? 1e-5 : 1e-4;
        for (int64_t r = 0; r < n; r++)
            for (int64_t m = 0; m < per_step; m++)
                loss += c->of[r].loss[i * per_step + m] / (double)(n * per_step);
        assert_within(name, "loss", relative(loss, csv_number(&curve, i, "loss")), bound);
        for (int64_t r = 0; r < n; r++)
            assert_within(name, "gradient norm",
                          relative(c->of[r].grad_norm[i], csv_number(&curve, i, "grad_norm")),
                          2e-3);
    }
}

static void train_case_on_ranks(const char *name, int64_t n, const char *weights)
{
    Arena *a = arena_new();
    RanksCase *c = NEW(a, RanksCase);
    const Rank alone = rank_alone;
    c->config = shared_path(a, arena_printf(a, "data/goldens/train/%s/config.yaml", name));
    c->weights =
        shared_path(a, arena_printf(a, "data/goldens/train/weights/%s.safetensors", weights));
    assert_int_equal(setenv("MODALITIES_SHARED", shared_path(a, ""), 1), 0);
    assert_int_equal(chdir(shared_path(a, "data/goldens/train")), 0);
    const CrewSettings crew = {
        .process = &alone, .n_ranks = n, .n_threads = 1, .work = train_rank, .context = c
    };
    assert_no_error(crew_run(a, &crew));
    compare_ranks(a, c, name, n);
    const char *evaluations =
        shared_path(a, arena_printf(a, "data/goldens/train/%s/eval.csv", name));
    if (file_exists(evaluations))
        check_evaluations(a, name, evaluations,
                          path_join(a, test_folder(), "run/evaluation_results.jsonl"));
    arena_free(a);
}

TEST(training_equals_golden_d_on_two_ranks)
{
    train_case_on_ranks("d_dp2", 2, "gpt2");
}
TEST(training_equals_golden_d_on_four_ranks)
{
    train_case_on_ranks("d_dp4", 4, "gpt2");
}
TEST(training_equals_golden_e_validation_on_two_ranks)
{
    train_case_on_ranks("e_validation_dp2", 2, "llama");
}

/* ---- warm start ---- */

enum { N_STEPS = 100, N_BEFORE = 50 };

/* All that a step shows, and the parameters after the last one. */
typedef struct Record {
    Arena *arena;
    double loss[N_STEPS], grad_norm[N_STEPS], lr[N_STEPS];
    int64_t last_step, n_params;
    Str param[64]; /* bytes */
} Record;

static void record_step(void *context, const StepReport *r)
{
    Record *to = context;
    assert_in_range(r->step, 1, N_STEPS);
    assert_int_equal(r->n_microbatches, 1);
    to->loss[r->step - 1] = r->loss[0];
    to->grad_norm[r->step - 1] = r->grad_norm;
    to->lr[r->step - 1] = r->lr;
    to->last_step = r->step;
    if (r->step < N_STEPS) return;
    for (int64_t i = 0; i < store_count(r->store); i++) {
        const Stored *p = store_at(r->store, i);
        if (p->kind != VALUE_PARAM) continue;
        size_t bytes = tensor_bytes(&p->tensor);
        assert_in_range(to->n_params, 0, 63);
        const Tensor values = stored_view(to->arena, r->store, p);
        to->param[to->n_params++] = (Str){ arena_copy(to->arena, values.data, bytes), bytes };
    }
}

/* As f_warmstart, but from this program's own checkpoint: steps 51 to 100 have the same bits. */
static void warm_start_from_step_50(Arena *a, const Record *whole)
{
    const char *info = path_join(a, test_folder(), "info.json");
    const char *folder = arena_printf(a,
                                      "{\"checkpoint_folder_path\": \"%s/run/checkpoints/"
                                      "eid_run-seen_steps_50-seen_tokens_12800-target_steps_100-"
                                      "target_tokens_25600\"}",
                                      test_folder());
    assert_no_error(file_write(info, folder, strlen(folder)));
    Record *rest = NEW(a, Record);
    rest->arena = a;
    train(a, "f_warmstart/config.yaml",
          (RunSettings){ .experiment_id = "warmstart",
                         .last_checkpoint_info_path = path_absolute(a, info),
                         .observe = record_step,
                         .observer = rest });
    size_t bytes = sizeof *rest->loss * (N_STEPS - N_BEFORE);
    assert_int_equal(rest->last_step, N_STEPS);
    assert_true(rest->loss[N_BEFORE - 1] == 0 && rest->loss[N_BEFORE] > 0);
    assert_memory_equal(rest->loss + N_BEFORE, whole->loss + N_BEFORE, bytes);
    assert_memory_equal(rest->grad_norm + N_BEFORE, whole->grad_norm + N_BEFORE, bytes);
    assert_memory_equal(rest->lr + N_BEFORE, whole->lr + N_BEFORE, bytes);
    assert_int_equal(rest->n_params, whole->n_params);
    assert_true(rest->n_params > 0);
    for (int64_t i = 0; i < rest->n_params; i++)
        assert_memory_equal(rest->param[i].ptr, whole->param[i].ptr, rest->param[i].len);
}

/* Beside tensors: the optimizer's settings of each parameter and the scheduler's numbers. */
static void assert_objects_of_the_original(Arena *a)
{
    static const char name[] =
        "-seen_steps_50-seen_tokens_12800-target_steps_100-target_tokens_25600";
    const char *path[] = { shared_path(a, arena_printf(a,
                                                       "data/goldens/train/a_onecycle/"
                                                       "checkpoints/eid_a_onecycle%s",
                                                       name)),
                           arena_printf(a, "%s/run/checkpoints/eid_run%s", test_folder(), name) };
    Map *want = map_new(a);
    for (int i = 0; i < 2; i++) {
        CheckpointReader *r;
        const CheckpointObject *object;
        int64_t n;
        assert_no_error(checkpoint_open(a, path[i], &r));
        assert_no_error(r->objects(r, &object, &n));
        if (i) assert_int_equal(n, want->n);
        for (int64_t k = 0; k < n; k++) {
            Text json = { 0 };
            assert_no_error(pickle_json(object[k].value, &json));
            if (i)
                assert_string_equal(json.ptr, map_get(want, str_of(object[k].name)));
            else
                map_set(want, str_of(object[k].name), arena_string(a, json.ptr));
            text_free(&json);
        }
    }
}

TEST(training_warm_start_at_step_50_of_a_onecycle_gives_the_same_bits)
{
    Arena *a = arena_new();
    Record *whole = NEW(a, Record);
    whole->arena = a;
    train(a, "a_onecycle/config.yaml",
          (RunSettings){ .experiment_id = "run",
                         .initial_weights_path =
                             shared_path(a, "data/goldens/train/weights/gpt2.safetensors"),
                         .observe = record_step,
                         .observer = whole });
    assert_objects_of_the_original(a);
    warm_start_from_step_50(a, whole);
    arena_free(a);
}
FENCED(training_warm_start_at_step_50_of_a_onecycle_gives_the_same_bits)

TEST(training_equals_golden_a_onecycle)
{
    train_case("a_onecycle", "gpt2");
}
FENCED(training_equals_golden_a_onecycle)
TEST(training_equals_golden_b_accumulation_and_warmup_cosine)
{
    train_case("b_accum4_warmup_cosine", "gpt2");
}
FENCED(training_equals_golden_b_accumulation_and_warmup_cosine)
TEST(training_equals_golden_c_llama_like)
{
    train_case("c_llama_like", "llama");
}
FENCED(training_equals_golden_c_llama_like)
/* From a checkpoint of torch, as the original goes on from its own. */
TEST(training_equals_golden_f_warmstart)
{
    Arena *a = arena_new();
    train_and_compare(
        a, "f_warmstart",
        (RunSettings){ .last_checkpoint_info_path = shared_path(
                           a, "data/goldens/train/f_warmstart/last_checkpoint_info.json") });
    arena_free(a);
}
FENCED(training_equals_golden_f_warmstart)
TEST(training_equals_golden_e_validation)
{
    train_case("e_validation", "gpt2");
}
FENCED(training_equals_golden_e_validation)
TEST(training_equals_golden_g_real_vocabulary)
{
    train_case("g_real_vocab", NULL);
}
