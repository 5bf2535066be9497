/* test_extend.c - configurations that begin with others, and where their values come from. */
#include "components.h"
#include "config/config.h"
#include "config/extend.h"
#include "config/yaml_origins.h"
#include "end_to_end/training.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

static const char *write_file(Arena *a, const char *name, const char *text)
{
    const char *path = path_join(a, test_folder(), name);
    assert_no_error(make_directories(path_folder(a, path)));
    assert_no_error(file_write(path, text, strlen(text)));
    return path;
}

static void emits(Arena *a, const char *path, const char *expected)
{
    Yaml *root;
    Text t = { 0 };
    assert_no_error(config_extend(a, path, &root));
    yaml_origins(root, &t);
    for (char *at; (at = strstr(t.ptr, "  #"));) { /* without comments */
        char *from = at, *end = strchr(at, '\n');
        while (from > t.ptr && from[-1] == ' ') from--;
        memmove(from, end, strlen(end) + 1);
    }
    if (strcmp(t.ptr, expected) != 0) fail_msg("%s\n---- expected\n%s", t.ptr, expected);
    text_free(&t);
}

TEST(mappings_are_merged_and_the_rest_is_replaced)
{
    Arena *a = arena_new();
    write_file(a, "base.yaml", "a: {b: 1, c: [1, 2], d: {e: x}}\nf: 1\n");
    emits(a, write_file(a, "x.yaml", "extends: base.yaml\na: {c: [3], d: {g: 2}}\nh: null\n"),
          "a:\n  b: 1\n  c:\n    - 3\n  d:\n    e: x\n    g: 2\nf: 1\nh: null\n");
    emits(a, write_file(a, "below/y.yaml", "a: {b: 5}\nextends: [../x.yaml, ../base.yaml]\n"),
          "a:\n  b: 5\n  c:\n    - 1\n    - 2\n  d:\n    e: x\n    g: 2\nf: 1\nh: null\n");
    arena_free(a);
}

/* Settings of another component would only be refused. */
TEST(a_component_of_another_variant_replaces_the_whole)
{
    Arena *a = arena_new();
    write_file(a, "base.yaml",
               "s: {component_key: scheduler, variant_key: step_lr, config: {gamma: 1}}\n"
               "t: {component_key: scheduler, variant_key: step_lr, config: {gamma: 1}}\n"
               "r: {component_key: x, variant_key: y, config: {z: 1}}\n");
    emits(a,
          write_file(a, "x.yaml",
                     "extends: base.yaml\n"
                     "s: {component_key: scheduler, variant_key: dummy_lr, config: {o: 1}}\n"
                     "t: {config: {gamma: 2}}\n"
                     "r: {instance_key: s, pass_type: BY_REFERENCE}\n"),
          "s:\n  component_key: scheduler\n  variant_key: dummy_lr\n  config:\n    o: 1\n"
          "t:\n  component_key: scheduler\n  variant_key: step_lr\n  config:\n    gamma: 2\n"
          "r:\n  instance_key: s\n  pass_type: BY_REFERENCE\n");
    arena_free(a);
}

static const char *checked(Arena *a, const char *text)
{
    const char *path = write_file(a, "typo.yaml", text);
    const char *const words[] = { "config", "check", "--config_file_path", path, NULL };
    return command_output(a, words, NULL).text;
}

TEST(misspelt_keys_at_the_top_of_a_file_that_extends_are_told)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    setenv("TRAIN_PBIN", path_absolute(a, b.pbin), 1);
    const char *base =
        arena_printf(a, "extends: %s\n", path_absolute(a, "tests/end_to_end/train.yaml"));
    assert_contains(checked(a, arena_printf(a, "%soptimzer: {config: {lr: 1}}\n", base)),
                    "typo.yaml:2:1: optimzer: this key is not used; did you mean \"optimizer\"?");
    assert_contains(checked(a, arena_printf(a, "%ssetings: {a: 1}\n", base)),
                    "typo.yaml:2:1: setings: this key is not used; did you mean \"settings\"?");
    /* what something refers to, and a component of its own, have a reason to be there */
    const char *said = checked(
        a, arena_printf(
               a, "%soptimzer: {lr: 1e-3}\noptimizer: {config: {lr: \"${optimzer.lr}\"}}\n", base));
    assert_null(strstr(said, "did you mean"));
    said = checked(
        a,
        arena_printf(a, "%soptimizer2: {component_key: optimizer, variant_key: adam_w}\n", base));
    assert_null(strstr(said, "did you mean"));
    assert_contains(checked(a, "extend: modalities/training\nsettings: {}\n"),
                    "typo.yaml:1:1: extend: this key is not used; did you mean \"extends\"?");
    arena_free(a);
}

TEST(what_cannot_be_extended_is_refused_with_its_place)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "extends: x.yaml\n", "x.yaml:1:10: extends: " },
        { "extends: x.yaml\n", "extends itself" },
        { "extends: missing.yaml\n", "missing.yaml" },
        { "extends: modalities/nothing\n", "allowed are modalities/training" },
        { "a: 1\nextends: 3\n", "x.yaml:2:10: extends takes paths of files, not 3" },
        { "extends: []\n", "x.yaml:1:10: extends is empty" },
        { "extends: list.yaml\n", "a configuration is a mapping, not a list" },
    };
    Arena *a = arena_new();
    write_file(a, "list.yaml", "[1]\n");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Yaml *root;
        Error *e = config_extend(a, write_file(a, "x.yaml", bad[i].text), &root);
        if (!e || !strstr(error_text(e), bad[i].says))
            fail_msg("%s: %s", bad[i].text, e ? error_text(e) : "accepted");
        error_free(e);
    }
    arena_free(a);
}

TEST(lists_are_added_to_by_set)
{
    Arena *a = arena_new();
    Yaml *root;
    const char *path = write_file(a, "x.yaml", "a: {b: [1], c: 2}\n");
    const char *const more[] = { "a.b+=2", "a.b+=[3, {x: y}]" };
    assert_no_error(config_load(a, path, (StringList){ (const char **)more, 2 },
                                &(ResolverContext){ 0 }, &root));
    assert_int_equal(yaml_find(root, "a.b")->n, 4);
    assert_string_equal(yaml_find(root, "a.b[3].x")->text, "y");
    const char *bad[] = { "a.c+=1" };
    Error *e = config_load(a, path, (StringList){ bad, 1 }, &(ResolverContext){ 0 }, &root);
    assert_error_has(e, "+= adds to a list, and this is an integer");
    arena_free(a);
}

#define SHORT                                                                                      \
    "extends: modalities/training\n"                                                               \
    "settings:\n"                                                                                  \
    "  paths: {train_dataset_path: %s, validation_dataset_path: %s}\n"                             \
    "  step_profile: {local_train_micro_batch_size: 2, sequence_length: 16}\n"                     \
    "  training_target: {num_target_steps: 4}\n"                                                   \
    "model_raw: {config: {vocab_size: 64, n_layer: 1, n_embd: 32, n_head_q: 4, n_head_kv: 2, "     \
    "ffn_hidden: 64}}\n"                                                                           \
    "lr_scheduler: {config: {warmup_steps: 2}}\n"

/* Seven lines train, resume and tell where each value comes from. */
TEST(a_short_configuration_trains_and_resumes)
{
    Bench b = bench_new();
    Arena *a = b.arena;
    const char *pbin = path_absolute(a, b.pbin);
    const char *path = write_file(a, "short.yaml", arena_printf(a, SHORT, pbin, pbin));
    const char *const run[] = { "run",  "--config_file_path", path, "--experiments_root_path",
                                b.root, "--experiment_id",    "x",  NULL };
    assert_ended_well(command_output(a, run, NULL));
    const char *const resume[] = { "resume", path_join(a, b.root, "x"), "--set",
                                   "settings.training_target.num_target_steps=6", NULL };
    Outcome o = command_output(a, resume, NULL);
    assert_ended_well(o);
    const char *const resolve[] = { "config", "resolve",   "--config_file_path",
                                    path,     "--origins", NULL };
    o = command_output(a, resolve, NULL);
    assert_ended_well(o);
    assert_non_null(strstr(o.text, "# short.yaml:5\n"));
    assert_non_null(strstr(o.text, "# modalities/training:"));
    arena_free(a);
}
