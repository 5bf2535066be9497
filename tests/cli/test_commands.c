/* test_commands.c - the command line: help everywhere, exit 2 and the nearest name for what is
 * wrong. */
#include "cli/command_line.h"
#include "generated.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void exits(const char *args, int status, const char *part)
{
    Arena *a = arena_new();
    const char *output;
    int got = command_line_run(a, args, &output);
    if (got != status)
        fail_msg("modalities %s: exit status %d, expected %d: %s", args, got, status, output);
    assert_contains(output, part);
    arena_free(a);
}

TEST(help_is_everywhere)
{
    exits("--help", 0, "Usage: modalities COMMAND [OPTIONS]");
    exits("config --help", 0, "resolve   ");
    exits("config check --help", 0, "--config_file_path PATH");
    exits("config check --help", 0,
          "Examples:\n  modalities config check --config_file_path train.yaml");
    exits("config check --nonsense --help", 0, "Usage: modalities config check");
    exits("help", 0, "Usage: modalities COMMAND [OPTIONS]");
    exits("help config resolve", 0, "--format [yaml|json]");
    exits("help component", 0, "optimizer.adam_w ");
    exits("help component optimizer", 0, "optimizer.adam ");
    exits("help component optimizer.adam_w", 0, "betas: a list of 2 numbers [required]");
    exits("help component gpt2", 0, "\nmodel.gpt2 - ");
    exits("help component adam_w", 0, "optimizer.adam_w - ");
    exits("help model.gpt2", 0, "model.gpt2 - ");
    exits("help adam_w", 0, "optimizer.adam_w - ");
    exits("-h", 0, "Usage: modalities COMMAND [OPTIONS]");
    exits("config -h", 0, "resolve   ");
    exits("config check -h", 0, "--config_file_path PATH");
    exits("--version", 0, "modalities ");
}

TEST(every_command_explains_itself)
{
    Arena *a = arena_new();
    const char *page;
    assert_int_equal(command_line_run(a, "docs commands", &page), 0);
    int n = 0;
    for (const char *at = page; (at = strstr(at, "\n## ")); n++) {
        at += 4;
        const char *help, *name = arena_string_n(a, at, strcspn(at, "\n"));
        assert_int_equal(command_line_run(a, arena_printf(a, "%s --help", name), &help), 0);
        assert_contains(help, arena_printf(a, "Usage: modalities %s ", name));
        assert_contains(help, "\nExamples:\n");
    }
    assert_true(n > 5);
    arena_free(a);
}

TEST(a_wrong_command_line_is_named_and_exits_with_2)
{
    exits("", 2, "a command is missing");
    exits("config", 2, "a command is missing");
    exits("confg", 2, "there is no command \"confg\"; did you mean \"config\"?");
    exits("config chek", 2, "there is no command \"config chek\"; did you mean \"config check\"?");
    exits("--config_file_path x", 2, "stands before a command");
    exits("config check", 2, "option --config_file_path is required");
    exits("config check --config_file_pth Makefile", 2,
          "there is no option --config_file_pth; did you mean --config_file_path?");
    exits("config check --config_file_path /nowhere", 2,
          "option --config_file_path: there is no file \"/nowhere\"");
    exits("config check --config_file_path", 2, "option --config_file_path needs a value");
    exits("config check --config_file_path Makefile extra", 2,
          "\"extra\" is one argument too many");
    exits("config check -c Makefile", 2, "there is no option -c; options begin with --");
    exits("config resolve --config_file_path Makefile --format binary", 2,
          "option --format: \"binary\"; allowed: one of yaml, json");
    exits("trian", 2, "there is no command \"trian\"; did you mean \"run\"?");
    exits("pack_encoded_data", 2, "did you mean \"data pack_encoded_data\"?");
    exits("data run", 2, "did you mean \"run\"?");
    exits("run --config_file x", 2, "did you mean --config_file_path?");
    exits("help dta verify", 2, "did you mean \"data\"?");
    exits("help gtp2", 2, "there is no component \"gtp2\"; did you mean \"gpt2\"?");
    exits("version", 2, "did you mean \"--version\"?");
    exits("-V", 2, "did you mean --version?");
    exits("help settings", 2, "help settings: allowed are training");
    exits("config check --config_file_path cli", 2, "\"cli\" is a folder, not a file");
    exits("config check --config_file_path /dev/null", 2, "\"/dev/null\" is no regular file");
    exits("run --config_file_path Makefile --experiments_root_path ''", 2, "it is empty");
    exits("run train.yaml", 2, "did you mean --config_file_path train.yaml?");
    exits("run train.yaml --config_file_path Makefile", 2,
          "\"train.yaml\" is one argument too many");
    exits("help component optimizr.adam", 2, "did you mean \"optimizer\"?");
    exits("help component optimizer.adamm", 2, "did you mean \"adam\"?");
}

TEST(names_that_there_are_not_are_answered_with_the_one_that_is_meant)
{
    exits("help component adamw", 2, "did you mean \"adam_w\"?");
    exits("help model.selective_activation_checkpointed", 2,
          "model.activation_checkpointed with ac_variant");
}

/* All faults at once, not one per attempt. */
TEST(all_faults_of_a_command_line_are_reported)
{
    exits("config check --formt json --set", 2, "option --config_file_path is required");
    exits("config check --formt json --set", 2, "there is no option --formt");
    exits("config check --formt json --set", 2, "option --set needs a value");
}

TEST(options_take_their_value_behind_a_blank_or_an_equals_sign)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "x.yaml"), *one, *other;
    assert_no_error(file_write(path, "a: {b: 1}\nc: ${a.b}\n", 20));
    assert_int_equal(
        command_line_run(
            a,
            arena_printf(a, "config resolve --config_file_path %s --set a.b=2 --set a.d=3", path),
            &one),
        0);
    assert_string_equal(one, "a:\n  b: 2\n  d: 3\nc: 2\n");
    assert_int_equal(
        command_line_run(
            a,
            arena_printf(a, "config resolve --format=json --set=a.b=2 --config_file_path=%s", path),
            &other),
        0);
    assert_string_equal(other, "{\n  \"a\": {\n    \"b\": 2\n  },\n  \"c\": 2\n}\n");
    arena_free(a);
}

TEST(a_wrong_file_exits_with_1_and_names_every_mistake)
{
    static const char text[] =
        "x: {component_key: loss, variant_key: clm_cross_entropy_loss, config: {target_ky: a}}\n"
        "y: {component_key: los, variant_key: clm_cross_entropy_loss, config: {}}\n";
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "x.yaml");
    assert_no_error(file_write(path, text, strlen(text)));
    const char *args = arena_printf(a, "config check --config_file_path %s", path);
    exits(
        args, 1,
        "x.yaml:1:72: x.config.target_ky: unknown key \"target_ky\"; did you mean \"target_key\"?");
    exits(args, 1, "x.config.prediction_key: this key is required");
    exits(args, 1, "x.yaml:2:20: y: unknown component_key \"los\"; did you mean \"loss\"?");
    arena_free(a);
}

TEST(the_schema_is_json_that_names_every_component)
{
    Arena *a = arena_new();
    const char *schema, *list;
    json_error_t e;
    assert_int_equal(command_line_run(a, "docs schema", &schema), 0);
    assert_int_equal(command_line_run(a, "help component", &list), 0);
    json_t *j = json_loads(schema, 0, &e);
    if (!j) fail_msg("line %d: %s", e.line, e.text);
    const json_t *rules =
        json_object_get(json_object_get(json_object_get(j, "$defs"), "component"), "allOf");
    int n_lines = 0;
    for (const char *s = list; *s; s++) n_lines += *s == '\n';
    assert_true((int)json_array_size(rules) >= n_lines);
    /* a list of which one item may stand for all */
    assert_contains(schema, "\"model_parts\": {\"description\": \"whose parameters count\", "
                            "\"anyOf\": [{\"$ref\": \"#/$defs/from_elsewhere\"}, {\"type\": "
                            "\"array\", \"items\": {\"anyOf\": [{\"$ref\": "
                            "\"#/$defs/from_elsewhere\"}]}}, {\"anyOf\": [");
    json_decref(j);
    arena_free(a);
}

TEST(the_generated_page_of_commands_is_up_to_date)
{
    Arena *a = arena_new();
    const char *page;
    assert_int_equal(command_line_run(a, "docs commands", &page), 0);
    assert_generated("docs/commands.md", page);
    arena_free(a);
}

TEST(the_generated_page_of_components_is_up_to_date)
{
    Arena *a = arena_new();
    const char *page;
    assert_int_equal(command_line_run(a, "docs components", &page), 0);
    assert_generated("docs/components.md", page);
    arena_free(a);
}

TEST(help_wraps_at_the_width_of_the_terminal)
{
    static const int widths[] = { 60, 80, 200 };
    static const char *const texts[] = { "--help",
                                         "run --help",
                                         "data --help",
                                         "data pack_encoded_data --help",
                                         "tokenizer train --help",
                                         "data create_shuffled_jsonl_chunk --help" };
    enum { N_TEXTS = sizeof texts / sizeof *texts };
    Arena *a = arena_new();
    Str text;
    const char *path = path_join(a, test_folder(), "help");
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < N_TEXTS; k++) {
            int status = system(arena_printf(a, "LC_ALL=C COLUMNS=%d %s %s > %s", widths[i],
                                             program_path(), texts[k], path));
            assert_int_equal(status, 0);
            assert_no_error(file_read(a, path, &text));
            for (size_t at = 0; at < text.len;) {
                size_t n = strcspn(text.ptr + at, "\n");
                if (n > (size_t)widths[i])
                    fail_msg("%d columns: %.*s", widths[i], (int)n, text.ptr + at);
                at += n + 1;
            }
        }
    arena_free(a);
}

/* An example that does not fit is one command of the shell still. */
TEST(a_long_example_goes_on_behind_a_backslash)
{
    Arena *a = arena_new();
    const char *said;
    const char *line = arena_printf(a,
                                    "echo() { printf '%%s\\n' \"$@\"; }; modalities() { echo "
                                    "\"$@\"; }; COLUMNS=60 %s tokenizer train --help | sed -n "
                                    "'/wordpiece .$/,/lowercase/p' > %s/typed; . %s/typed",
                                    program_path(), test_folder(), test_folder());
    assert_int_equal(shell_run(a, line, &said), 0);
    assert_contains(said, "tokenizer\ntrain\n--model\nwordpiece\n--input_path\ncorpus\n"
                          "--output_path\ntokenizer.json\n--vocab_size\n30522\n"
                          "--lowercase=false\n");
    assert_int_equal(shell_run(a,
                               arena_printf(a,
                                            "COLUMNS=60 %s tokenizer inspect --help | sed -n "
                                            "'/^Examples/,$p'",
                                            program_path()),
                               &said),
                     0);
    assert_contains(said, "--text 'How is this cut?'\n");
    arena_free(a);
}
