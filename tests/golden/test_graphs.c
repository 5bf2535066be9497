/* test_graphs.c - the programs of small models as text, after each pass: whatever changes them
 * shows as a diff of tests/golden/graphs, which `make graphs` writes anew. */
#include "components.h"
#include "config/builder.h"
#include "generated.h"
#include "graph/op.h"
#include "test.h"
#include "train/session.h"
#include <stdlib.h>

enum { BATCH = 2, SEQUENCE = 6 };

/* What graphs/NAME.yaml describes, and where its programs are printed. */
typedef struct Case {
    Arena *arena;
    const char *name;
    Model *model;
    Optimizer *optimizer;
    GradientClipper *clipper;
    Loss *loss;
    Session *session;
    char *text;
    size_t size;
    PassTrace trace;
} Case;

static Case *case_new(const char *name, const char *model)
{
    Arena *a = arena_new();
    Case *c = NEW(a, Case);
    *c = (Case){ .arena = a, .name = name };
    Yaml *root;
    Registry *registry;
    const char *path = arena_printf(a, "tests/golden/graphs/%s.yaml", name);
    assert_no_error(config_load(a, path, (StringList){ 0 }, &(ResolverContext){ 0 }, &root));
    assert_no_error(components_registry(a, &registry));
    Builder *b = builder_new(a, registry, root, NULL);
    assert_no_error(builder_get(b, model, "model", (void **)&c->model));
    assert_no_error(builder_get(b, "optimizer", "optimizer", (void **)&c->optimizer));
    assert_no_error(builder_get(b, "gradient_clipper", "gradient_clipper", (void **)&c->clipper));
    assert_no_error(builder_get(b, "loss", "loss", (void **)&c->loss));
    c->trace = (PassTrace){ .print = "after:all", .to = open_memstream(&c->text, &c->size) };
    SessionSettings settings = { .model = c->model, .n_threads = 1, .trace = &c->trace };
    assert_no_error(session_new(&settings, &c->session));
    return c;
}

/* What was printed is the content of graphs/NAME.PROGRAM.txt. */
static void case_end(Case *c, const char *program)
{
    session_free(c->session);
    fclose(c->trace.to);
    assert_generated(arena_printf(c->arena, "tests/golden/graphs/%s.%s.txt", c->name, program),
                     c->text);
    free(c->text);
    arena_free(c->arena);
}

static void check_training(const char *name)
{
    Case *c = case_new(name, "model");
    Program *p;
    assert_no_error(session_training_program(c->session, c->loss, c->optimizer, c->clipper, NULL,
                                             BATCH, SEQUENCE, &p));
    case_end(c, "training");
}

TEST(training_of_a_llama_like_model_is_the_graph_on_file_after_each_pass)
{
    check_training("llama");
}

TEST(training_of_a_gpt2_model_is_the_graph_on_file_after_each_pass)
{
    check_training("gpt2");
}

TEST(evaluation_is_the_graph_on_file_after_each_pass)
{
    Case *c = case_new("gpt2", "model");
    Program *p;
    assert_no_error(session_evaluation_program(c->session, c->loss, BATCH, SEQUENCE, &p));
    case_end(c, "evaluation");
}

/* Without initializer: parameters are as constructed. */
TEST(generation_is_the_graph_on_file_after_each_pass)
{
    Case *c = case_new("llama", "model_raw");
    Program *p;
    assert_no_error(session_generation_program(c->session, 1, 1, 8, &p));
    case_end(c, "generation");
}

/* Between two updates few tokens are made: panels would not pay (passes/panels.h). */
TEST(texts_of_a_training_read_weights_where_they_lie)
{
    Case *c = case_new("llama", "model");
    Program *p;
    assert_no_error(session_training_program(c->session, c->loss, c->optimizer, c->clipper, NULL,
                                             BATCH, SEQUENCE, &p));
    assert_no_error(session_generation_program(c->session, 1, 1, 8, &p));
    const Graph *g = program_graph(p);
    for (int64_t i = 0; i < g->n_nodes; i++)
        assert_string_not_equal(g->node[i]->op->name, "contract_panels");
    session_free(c->session);
    fclose(c->trace.to);
    free(c->text);
    arena_free(c->arena);
}
