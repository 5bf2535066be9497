/* test_instruction.c - conversations to texts: what is refused and left out, and where the lines
 * go. */
#include "data/instruction.h"
#include "test.h"
#include <string.h>

static const char good[] = "{\"m\": [{\"role\": \"a\", \"content\": \"x\"}], \"id\": 1.50}";

typedef struct Setup {
    Arena *arena;
    InstructionConfig config;
    SplitConfig split;
    StringEntry role[1];
    Yaml data;
    const char *config_path;
} Setup;

static void make(Setup *s, const char *lines, const char *template)
{
    Arena *a = arena_new();
    const char *folder = test_folder();
    *s = (Setup){ .arena = a,
                  .split = { .splitting = { 50, 50, 0 }, .seed = 1234 },
                  .role = { { "a", "A" } },
                  .data = { .type = YAML_MAP },
                  .config_path = path_join(a, folder, "chat.yaml") };
    s->config = (InstructionConfig){
        .settings = { .src_path = path_join(a, folder, "in.jsonl"),
                      .dst_path = path_join(a, folder, "out/a.b.jsonl"),
                      .messages_key = "m",
                      .split_config = &s->split },
        .instruction_data_transformation = { .role_mapping = { s->role, 1 } },
        .jinja2_chat_template = template,
        .chat_template_data = &s->data,
    };
    assert_no_error(file_write(s->config.settings.src_path, lines, strlen(lines)));
    assert_no_error(file_write(s->config_path, "x", 1));
}

static Error *convert(Setup *s, InstructionSummary *out)
{
    Resumable *file;
    TRY(instruction_convert(s->arena, &s->config, s->config_path, out, &file));
    return resumable_commit(file);
}

static void assert_refused(const char *line, const char *template, const char *expected)
{
    Setup s;
    InstructionSummary done;
    make(&s, line, template);
    assert_error_has(convert(&s, &done), expected);
    assert_false(file_exists(path_join(s.arena, test_folder(), "out/in_2d71164")));
    arena_free(s.arena);
}

TEST(a_conversation_that_cannot_be_used_is_named_and_nothing_is_written)
{
    const char *t = "{{ messages[0].content }}";
    assert_refused("{\"m\": [}", t, "in.jsonl:1:8: ");
    assert_refused("\n", t, "in.jsonl:1:1: ");
    assert_refused("[1]", t, "in.jsonl:1: the line is a list where a mapping is needed");
    assert_refused("{\"x\": 1}", t, "in.jsonl:1: messages_key 'm' is not in the line");
    assert_refused("{\"m\": {}}", t, "'m' is a mapping where a list of messages is needed");
    assert_refused("{\"m\": [1]}", t, "message 1 is an integer where a mapping is needed");
    assert_refused("{\"m\": [{\"from\": \"b\"}]}", t,
                   "the from 'b' is not in role_mapping, which has a");
    assert_refused("{\"m\": [{\"role\": 1}]}", t, "'role' of a message is an integer");
    assert_refused(good, "{{ raise_exception('no ' ~ messages[0].role) }}",
                   "jinja2_chat_template: line 1, column 19: the template refuses this: no A");
    assert_refused(good, "a\n{% wrong %}",
                   "chat.yaml: jinja2_chat_template: line 2, column 4: the tag 'wrong'");
}

TEST(conversations_go_where_pythons_draws_send_them)
{
    Setup s;
    InstructionSummary done;
    Text lines = { 0 };
    for (int i = 0; i < 20; i++) text_printf(&lines, "{\"m\": [], \"i\": %d}\n", i);
    make(&s, lines.ptr, "t");
    s.split.splitting = (SplitShares){ 70, 15, 15 };
    assert_no_error(convert(&s, &done));
    static const char *const expected[] = { "1 2 5 6 7 9 10 12 13 14 15 16 17 18 19", "8 11",
                                            "0 3 4" };
    for (int i = 0; i < N_PARTITIONS; i++) {
        Str text;
        Text numbers = { 0 };
        assert_no_error(file_read(s.arena, done.partition[i].jsonl_path, &text));
        char *rest = (char *)text.ptr, *line;
        while ((line = strsep(&rest, "\n")) && *line) {
            int number;
            assert_int_equal(sscanf(line, "{\"m\": [], \"i\": %d, \"chat\": \"t\"}", &number), 1);
            text_printf(&numbers, "%s%d", numbers.len ? " " : "", number);
        }
        assert_string_equal(numbers.ptr, expected[i]);
        text_free(&numbers);
    }
    text_free(&lines);
    arena_free(s.arena);
}

TEST(bad_conversations_are_left_out_when_told_so)
{
    Setup s;
    InstructionSummary done;
    const char *lines = "{\"m\": [{\"role\": \"a\", \"content\": \"x\"}], \"id\": 1.50}\nno json\n";
    make(&s, lines, "{{ messages[0].role }}");
    s.split.splitting = (SplitShares){ 0, 0, 100 };
    s.config.settings.on_bad_line = BAD_LINE_SKIP;
    assert_no_error(convert(&s, &done));
    assert_int_equal(done.n_lines, 2);
    assert_int_equal(done.n_bad, 1);
    Str text;
    assert_contains(done.partition[2].jsonl_path, "out/in_2d71164/a.b_test.2d71164.b.jsonl");
    assert_no_error(file_read(s.arena, done.partition[2].jsonl_path, &text));
    assert_string_equal(text.ptr, "{\"m\": [{\"role\": \"A\", \"content\": \"x\"}], \"id\": 1.5, "
                                  "\"chat\": \"A\"}\n");
    assert_false(file_exists(done.partition[0].jsonl_path));
    arena_free(s.arena);
}
