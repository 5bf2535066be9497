/* test_detector.c - what the detector tells of values that jump, stay, fall and jump again. */
#include "components.h"
#include "config/builder.h"
#include "config/yaml.h"
#include "models/model.h"
#include "ops/elementwise.h"
#include "test.h"
#include "watch/watch.h"
#include <stdio.h>
#include <string.h>

extern const ComponentDef model_debugging_hook_detector;

static void set(void *settings, const char *name, const void *value, size_t bytes)
{
    const Field *f = model_debugging_hook_detector.fields;
    while (f->name && strcmp(f->name, name) != 0) f++;
    assert_non_null(f->name);
    memcpy((char *)settings + f->offset, value, bytes);
}

/* One that compares with two steps, by a factor of 10. */
static Watch *detector(Arena *a, Model *model)
{
    void *settings = arena_alloc(a, model_debugging_hook_detector.settings_size), *made;
    const int64_t steps = 2;
    const double factor = 10;
    set(settings, "model", &model, sizeof model);
    set(settings, "num_steps", &steps, sizeof steps);
    set(settings, "range_factor", &factor, sizeof factor);
    Registry *registry;
    Yaml *nothing;
    assert_no_error(components_registry(a, &registry));
    assert_no_error(yaml_parse(a, str_of("{}"), "nothing", &nothing));
    Builder *b = builder_new(a, registry, nothing, NULL);
    assert_no_error(model_debugging_hook_detector.build(b, settings, &made));
    assert_ptr_equal(model->watches, made);
    return made;
}

TEST(the_detector_compares_with_the_steps_just_before)
{
    static const float most[] = { 1, -1, 100, 100, 1, 1, -100 };
    enum { N_STEPS = sizeof most / sizeof *most };
    Arena *a = arena_new();
    Model model = { 0 };
    Watch *w = detector(a, &model);
    Graph *g = graph_new(a);
    const Dim one = { .size = 1 };
    Node *n = scale(g, graph_input(g, "x", F32, 1, &one), 2)->from;
    n->phase = FORWARD;
    float value;
    Tensor out = { .dtype = F32, .data = &value, .n_dims = 1, .size = { 1 } };
    Launch l = { .op = n->op, .out = &out, .n_out = 1 };
    RunTime now = { 0 };
    Device *d = cpu_device_new(1);
    const NodeRun run = { .graph = g, .node = n, .launch = &l, .now = &now, .device = d };
    const char *said = path_join(a, test_folder(), "said");
    assert_non_null(freopen(said, "w", stderr));
    for (now.step = 0; now.step < N_STEPS; now.step++)
        for (now.microbatch = 0; now.microbatch < 2; now.microbatch++) {
            value = most[now.step];
            assert_no_error(w->node(w, &run));
        }
    fflush(stderr);
    Str text;
    assert_no_error(file_read(a, said, &text));
    static const char expected[] = "gives 100, and at most 1 in the 2 steps before\n";
    const char *first = strstr(text.ptr, "step 3, microbatch 0, rank 0: scale (forward) "),
               *second = strstr(text.ptr, "step 7, microbatch 0, rank 0: scale (forward) ");
    assert_true(first && second && first < second);
    assert_non_null(strstr(first, expected));
    assert_non_null(strstr(second, expected));
    int n_lines = 0;
    for (const char *at = text.ptr; (at = strchr(at, '\n')); at++) n_lines++;
    assert_int_equal(n_lines, 2);
    d->free(d);
    arena_free(a);
}
