/* test_generate_text.c - `modalities generate_text` from the command line. */
#include "components.h"
#include "test.h"
#include "train/forced_model.h"
#include "train/session.h"
#include "train/state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* What one run of the program left behind. */
typedef struct Run {
    int status;
    const char *output, *errors;
} Run;

/* `input` is what comes through the pipe, in printf's spelling. */
static Run run(Arena *a, const ForcedModel *m, const char *input, const char *options)
{
    const char *output = path_join(a, test_folder(), "output"),
               *errors = path_join(a, test_folder(), "errors");
    Str out, err;
    int status = system(arena_printf(
        a, "printf '%s' | LC_ALL=C %s generate_text --config_file_path %s %s > %s 2> %s", input,
        program_path(), m->config, options, output, errors));
    assert_no_error(file_read(a, output, &out));
    assert_no_error(file_read(a, errors, &err));
    return (Run){ WEXITSTATUS(status), out.ptr, err.ptr };
}

#define ANSWER(prompt, text)                                                                       \
    "--------------------PROMPT--------------------\nPrompt:  " prompt                             \
    "\n\n--------------------OUTPUT--------------------\n\n" text
#define EOD "\n<reached end of document token>\n"
#define FULL "\n max tokens reached\n"

TEST(each_line_of_a_pipe_is_a_prompt)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "abbc!$", "<{prompt_input}");
    Run r = run(a, &m, "xa\\ny!\\r\\nz", "--max_new_tokens 3");
    assert_int_equal(r.status, 0);
    assert_string_equal(r.output,
                        "prompt_input: " ANSWER("<xa", "bcc" FULL) "prompt_input: " ANSWER(
                            "<y!", EOD) "prompt_input: " ANSWER("<z", "zzz" FULL));
    assert_contains(r.errors, "the configuration asks for cuda; it runs here on the CPU\n");
    assert_string_equal(run(a, &m, "", "").output, "");
    arena_free(a);
}

TEST(a_prompt_on_the_command_line_asks_for_nothing)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "ab", "{x}-{x}");
    Run r = run(a, &m, "unread\\n",
                "--prompt a --max_new_tokens 2 --device cpu --set settings.device=cpu");
    assert_int_equal(r.status, 0);
    assert_string_equal(r.output, ANSWER("a-a", "bb" FULL));
    assert_null(strstr(r.errors, "cuda"));
    arena_free(a);
}

TEST(a_null_eod_token_never_ends_an_answer)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "!$", "x{y}");
    assert_contains(run(a, &m, "", "--prompt ! --max_new_tokens 2").output, EOD);
    Run r =
        run(a, &m, "",
            "--prompt ! --max_new_tokens 2 --set text_inference_component.config.eod_token=null");
    assert_int_equal(r.status, 0);
    assert_contains(r.output, FULL);
    assert_null(strstr(r.output, EOD));
    arena_free(a);
}

TEST(a_template_with_several_names_takes_a_line_for_each)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "", "{one} {two}");
    Run r = run(a, &m, "A\\nB\\nC\\n", "--max_new_tokens 1");
    assert_int_equal(r.status, 1);
    assert_string_equal(r.output, "one: two: " ANSWER("A B", "B" FULL) "one: ");
    assert_contains(r.errors, "the input ended after line 3, before {two}");
    assert_int_equal(run(a, &m, "", "--prompt x").status, 2);
    arena_free(a);
}

TEST(a_template_without_names_is_answered_once)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "ab", "xa");
    Run r = run(a, &m, "unread\\n", "--max_new_tokens 1");
    assert_int_equal(r.status, 0);
    assert_string_equal(r.output, ANSWER("xa", "b" FULL));
    r = run(a, &m, "", "--prompt x");
    assert_int_equal(r.status, 2);
    assert_contains(r.errors, "the prompt_template has no {name}");
    arena_free(a);
}

TEST(temperature_and_seed_of_the_command_line_count)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "", "{x}");
    const char *hot = "--prompt a --max_new_tokens 20 --temperature 1000 --seed";
    const char *one = run(a, &m, "", arena_printf(a, "%s 1", hot)).output;
    assert_string_equal(run(a, &m, "", arena_printf(a, "%s 1", hot)).output, one);
    assert_string_not_equal(run(a, &m, "", arena_printf(a, "%s 2", hot)).output, one);
    assert_string_equal(run(a, &m, "", "--prompt a --max_new_tokens 2").output,
                        ANSWER("a", "aa" FULL));
    arena_free(a);
}

TEST(a_checkpoint_folder_gives_the_same_answers)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "abb$", "{x}");
    const char *options =
        arena_printf(a, "--prompt a --set settings.model_path=%s", forced_model_checkpoint(a, &m));
    assert_string_equal(run(a, &m, "", options).output, ANSWER("a", "b" EOD));
    arena_free(a);
}

TEST(a_sequence_length_beyond_the_models_is_cut_with_a_warning)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "", "{x}");
    Run r = run(a, &m, "", "--prompt abc --set settings.sequence_length=1000");
    assert_int_equal(r.status, 0);
    assert_contains(r.errors, "sequence_length 1000 is more than the model's 64");
    assert_int_equal(strlen(r.output), strlen(ANSWER("abc", FULL)) + 61);
    arena_free(a);
}

TEST(a_model_without_a_checkpoint_says_so)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "", "{x}");
    Run r = run(a, &m, "",
                "--prompt a --max_new_tokens 1 --set "
                "text_inference_component.config.model.instance_key=model_raw");
    assert_int_equal(r.status, 0);
    assert_contains(r.errors, "its weights are random");
    arena_free(a);
}

TEST(what_cannot_be_answered_is_one_clear_error)
{
    static const struct {
        const char *input, *options;
        int status;
        const char *error;
    } cases[] = {
        { "a\\n\\n", "--max_new_tokens 1", 1, "line 2 of the input: the prompt is empty" },
        { "a\\000b\\n", "", 1, "line 1 of the input holds a NUL character" },
        { "a\\377\\n", "", 1, "UTF-8" },
        { "", "--prompt \"\"", 1, "the prompt is empty" },
        { "", "--device cuda", 1, "--device cuda: " },
        { "", "--device gpu", 2, "allowed are cpu, cuda and cuda:N" },
        { "", "--max_new_tokens 0", 2, "max_new_tokens" },
        { "", "--set settings.device=tpu", 1, "device \"tpu\": allowed" },
        { "", "--set settings.model_path=/nowhere/x", 1, "/nowhere/x" },
        { "", "--set text_inference_component.config.prompt_template=a{x", 2, "is not closed" },
        { "", "--set text_inference_component.config.sequence_length=0", 2, "sequence_length" },
    };
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "", "{x}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Run r = run(a, &m, cases[i].input, cases[i].options);
        assert_contains(r.errors, cases[i].error);
        assert_int_equal(r.status, cases[i].status);
    }
    arena_free(a);
}

/* The model of a configuration with random weights, as a checkpoint folder. */
static const char *random_checkpoint(Arena *a, const char *config, StringList overrides)
{
    const char *path = path_join(a, test_folder(), "random");
    void *model;
    Session *s;
    Program *p;
    assert_no_error(component_from_file(a, config, overrides, "model_raw", "model", &model));
    assert_no_error(
        session_new(&(SessionSettings){ .model = model, .device = "cpu", .n_threads = 1 }, &s));
    assert_no_error(session_inspection_program(s, NULL, false, 1, 1, &p));
    store_initialize(session_store(s), 1);
    int64_t n;
    StateTensor *state = state_of_store(a, session_store(s), false, NULL, &n);
    assert_no_error(checkpoint_save(path, state, n, "{}"));
    session_free(s);
    return path;
}

/* Without a YAML. */
TEST(a_folder_that_describes_no_model_is_one_clear_error)
{
    static const struct {
        const char *options, *part;
        int status;
    } wrong[] = {
        { "--prompt a", "--config_file_path or --model_path: one of them says which model", 2 },
        { "--config_file_path configs/generate/small.yaml --model_path tests --prompt a",
          "--config_file_path or --model_path: one of them", 2 },
        { "--config_file_path configs/generate/small.yaml --tokenizer_path tests --prompt a",
          "--tokenizer_path goes with --model_path", 2 },
        { "--model_path tests --prompt a",
          "tests: neither a model of Hugging Face, with config.json, nor a checkpoint with a "
          "kept_config.yaml",
          1 },
        { "--model_path no/where --prompt a", "no/where: there is no such folder", 1 },
        { "--model_path HF --prompt a", "does not say whose tokens it knows", 2 },
        { "--model_path HF --tokenizer_path tests --prompt a",
          "--tokenizer_path: tests has no tokenizer.json", 2 },
    };
    Arena *a = arena_new();
    const char *folder = path_join(a, test_folder(), "model"),
               *errors = path_join(a, test_folder(), "errors");
    static const char config[] =
        "{\"model_type\": \"llama\", \"vocab_size\": 8, \"hidden_size\": 8, "
        "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
        "\"intermediate_size\": 8}";
    assert_no_error(make_directories(folder));
    assert_no_error(file_write(path_join(a, folder, "config.json"), config, strlen(config)));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Str said;
        const char *hf = strstr(wrong[i].options, "HF");
        const char *options =
            hf ? arena_printf(a, "--model_path %s%s", folder, hf + 2) : wrong[i].options;
        const int status = system(arena_printf(a, "HF_HUB_CACHE=%s %s generate_text %s 2> %s",
                                               test_folder(), program_path(), options, errors));
        assert_no_error(file_read(a, errors, &said));
        assert_contains(said.ptr, wrong[i].part);
        assert_int_equal(WEXITSTATUS(status), wrong[i].status);
    }
    arena_free(a);
}

TEST(the_shipped_configuration_generates)
{
    Arena *a = arena_new();
    ForcedModel m = { .config = "configs/tutorial/text_generation_config.yaml" };
    const char *tokenizer = shared_path(a, "data/tokenizers/gpt2");
    const char *small = "model_raw.config.n_embd=32";
    const char *checkpoint = random_checkpoint(a, m.config, (StringList){ &small, 1 });
    Run r = run(a, &m, "Once upon a time\\n",
                arena_printf(a,
                             "--max_new_tokens 5 --set %s --set settings.model_path=%s --set "
                             "tokenizer.config.pretrained_model_name_or_path=%s",
                             small, checkpoint, tokenizer));
    assert_int_equal(r.status, 0);
    const char *begin = "prompt_input: " ANSWER("Once upon a time", "");
    assert_memory_equal(r.output, begin, strlen(begin));
    const char *end = strstr(r.output, FULL);
    assert_true(end && end > r.output + strlen(begin));
    arena_free(a);
}

/* ---- chat ---- */

static void write_text(Arena *a, const char *folder, const char *name, const char *text)
{
    assert_no_error(file_write(path_join(a, folder, name), text, strlen(text)));
}

#define CHAT                                                                                       \
    "{%- for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}{% if "                     \
    "add_generation_prompt %}>{% endif %}"

TEST(a_chat_prompt_is_what_the_tokenizers_template_makes_of_it)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, ">aabb!!$", "{x}");
    const char *folder = path_folder(a, m.tokenizer);
    Run r = run(a, &m, "", "--prompt hi --chat");
    assert_int_equal(r.status, 1);
    assert_contains(r.errors, "has no chat template: neither a chat_template.jinja nor");
    write_text(a, folder, "tokenizer_config.json",
               arena_printf(a, "{\"eos_token\": {\"content\": \"!\"},\n \"chat_template\": \"%s\"}",
                            CHAT));
    r = run(a, &m, "", "--prompt hi --chat --system be");
    assert_int_equal(r.status, 0);
    assert_string_equal(r.output, ANSWER("[system:be][user:hi]>", "ab" EOD));
    write_text(a, folder, "chat_template.jinja", "<{{ messages[0].content }}>{{ eos_token }}");
    assert_string_equal(run(a, &m, "", "--prompt hi --chat").output, ANSWER("<hi>!", EOD));
    write_text(a, folder, "chat_template.jinja", "{{ messages[0.content }}");
    assert_contains(run(a, &m, "", "--prompt hi --chat").errors,
                    "chat_template.jinja: chat template");
    assert_int_equal(run(a, &m, "", "--prompt hi --system be").status, 2);
    arena_free(a);
}

TEST(a_full_context_stops_or_slides_as_asked)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "abbcca", "{x}");
    const char *words = "--prompt a --max_new_tokens 150";
    Text expected = { 0 };
    for (int i = 0; i < 150; i++) text_putc(&expected, "bca"[i % 3]);
    assert_string_equal(run(a, &m, "", words).output,
                        arena_printf(a, ANSWER("a", "%.63s" FULL), expected.ptr));
    assert_string_equal(run(a, &m, "", arena_printf(a, "%s --context slide", words)).output,
                        arena_printf(a, ANSWER("a", "%s" FULL), expected.ptr));
    Run r = run(a, &m, "", "--prompt a --context slide");
    assert_int_equal(r.status, 2);
    assert_contains(r.errors, "--context slide needs --max_new_tokens");
    char longer[100] = { 0 };
    memset(longer, 'x', 90);
    r = run(a, &m, "", arena_printf(a, "--prompt %sa --max_new_tokens 3 --context slide", longer));
    assert_contains(r.output, "\n\nbca" FULL);
    text_free(&expected);
    arena_free(a);
}

TEST(a_file_of_prompts_is_answered_into_another)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "abb!!$", "{x}");
    const char *to = path_join(a, test_folder(), "answers.jsonl"),
               *from = path_join(a, test_folder(), "prompts.jsonl");
    const char *words = arena_printf(
        a, "--max_new_tokens 3 --prompts_file_path %s --output_file_path %s", from, to);
    write_text(a, test_folder(), "prompts.jsonl",
               "{\"id\": 7, \"prompt\": \"a\"}\n\n{\"x\": \"qa\\u00e4c\"}\n");
    Run r = run(a, &m, "", words);
    Str answers;
    assert_int_equal(r.status, 0);
    assert_string_equal(r.output, "");
    assert_contains(r.errors, "2 answers in ");
    assert_no_error(file_read(a, to, &answers));
    assert_string_equal(answers.ptr, "{\"id\": 7, \"prompt\": \"a\", \"answer\": \"b!\", \"end\": "
                                     "\"eod\"}\n{\"x\": \"qa\\u00e4c\", \"answer\": \"ccc\", "
                                     "\"end\": \"limit\"}\n");
    assert_int_equal(remove(to), 0);
    write_text(a, test_folder(), "prompts.jsonl", "{\"prompt\": \"a\"}\n{\"text\": \"a\"}\n");
    r = run(a, &m, "", words);
    assert_int_equal(r.status, 1);
    assert_contains(r.errors, "prompts.jsonl:2: there is no 'x', and no 'prompt'");
    assert_false(file_exists(to));
    assert_int_equal(run(a, &m, "", arena_printf(a, "--prompts_file_path %s", from)).status, 2);
    arena_free(a);
}

TEST(prompts_of_a_file_are_answered_side_by_side_as_one_by_one)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "ab", "{x}");
    const char *from = path_join(a, test_folder(), "prompts.jsonl");
    Str answers[2];
    write_text(a, test_folder(), "prompts.jsonl",
               "{\"x\": \"a\"}\n{\"x\": \"a longer prompt\"}\n{\"x\": \"b\"}\n");
    for (int i = 0; i < 2; i++) {
        const char *to = path_join(a, test_folder(), i ? "several.jsonl" : "single.jsonl");
        Run r = run(a, &m, "",
                    arena_printf(a,
                                 "--max_new_tokens 12 --temperature 1.5 --seed 3 --batch_size %d "
                                 "--prompts_file_path %s --output_file_path %s",
                                 i ? 2 : 1, from, to));
        assert_int_equal(r.status, 0);
        assert_no_error(file_read(a, to, &answers[i]));
    }
    assert_string_equal(answers[1].ptr, answers[0].ptr);
    assert_int_equal(run(a, &m, "", "--prompt a --batch_size 17").status, 2);
    arena_free(a);
}

/* ---- ranks ---- */

/* Sixteen caches of a long context do not fit where one does; one prompt takes no more than one. */
TEST(prompts_whose_caches_do_not_fit_are_answered_a_few_at_a_time)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "ab", "{x}");
    Text lines = { 0 };
    for (int i = 0; i < 16; i++) text_puts(&lines, "{\"x\": \"a\"}\n");
    const char *from = path_join(a, test_folder(), "prompts.jsonl");
    write_text(a, test_folder(), "prompts.jsonl", lines.ptr);
    text_free(&lines);
    static const char words[] = "--max_new_tokens 2 --batch_size 16 --set "
                                "model_raw.config.sequence_length=2048 --set "
                                "settings.sequence_length=2048";
    Str answers[2];
    for (int i = 0; i < 2; i++) {
        const char *to = path_join(a, test_folder(), i ? "many.jsonl" : "few.jsonl");
        if (!i) assert_int_equal(setenv("MODALITIES_MEMORY_LIMIT", "24000000", 1), 0);
        Run r = run(
            a, &m, "",
            arena_printf(a, "%s --prompts_file_path %s --output_file_path %s", words, from, to));
        unsetenv("MODALITIES_MEMORY_LIMIT");
        if (r.status) fail_msg("%s", r.errors);
        assert_true(!i == !!strstr(r.errors, "at a time, not 16: each takes 2."));
        assert_no_error(file_read(a, to, &answers[i]));
    }
    assert_string_equal(answers[1].ptr, answers[0].ptr);
    assert_int_equal(setenv("MODALITIES_MEMORY_LIMIT", "24000000", 1), 0);
    write_text(a, test_folder(), "one.jsonl", "{\"x\": \"a\"}\n");
    Run r = run(a, &m, "",
                arena_printf(a, "%s --prompts_file_path %s --output_file_path %s.out", words,
                             path_join(a, test_folder(), "one.jsonl"), from));
    unsetenv("MODALITIES_MEMORY_LIMIT");
    assert_int_equal(r.status, 0);
    assert_null(strstr(r.errors, "at a time"));
    arena_free(a);
}

#define MESH(tp)                                                                                   \
    " --set \"device_mesh={component_key: device_mesh, variant_key: default, config: "             \
    "{device_type: cpu, data_parallel_replicate_degree: 1, data_parallel_shard_degree: -1, "       \
    "tensor_parallel_degree: " tp ", world_size: " tp "}}\""
#define SHARED_MODEL                                                                               \
    " --set \"text_inference_component.config.model={component_key: model, variant_key: gpt2_tp, " \
    "config: {model: {instance_key: model_raw, pass_type: BY_REFERENCE}, device_mesh: "            \
    "{instance_key: device_mesh, pass_type: BY_REFERENCE}}}\" --set model_raw.config.n_head_kv=2"

#define OWN_MODEL                                                                                  \
    " --set \"text_inference_component.config.model={instance_key: model_raw, pass_type: "         \
    "BY_REFERENCE}\" --set model_raw.config.n_head_kv=2"

TEST(ranks_that_share_a_model_answer_as_one)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "ab", "{x}");
    const char *words = "--max_new_tokens 12 --temperature 0.7 --seed 3 --stop zz";
    Run one = run(a, &m, "ab\\nlonger prompt\\n", arena_printf(a, "%s" OWN_MODEL, words)),
        two = run(a, &m, "ab\\nlonger prompt\\n",
                  arena_printf(a, "%s --ranks 2" MESH("2") SHARED_MODEL, words));
    assert_int_equal(one.status, 0);
    assert_int_equal(two.status, 0);
    assert_contains(one.output, "longer prompt");
    assert_string_equal(two.output, one.output);
    Run r = run(a, &m, "", "--prompt a --ranks 2");
    assert_int_equal(r.status, 1);
    assert_contains(r.errors, "2 ranks can share a model for generation by tensor parallelism");
    arena_free(a);
}

#define STAGES(ranks, pp, tp)                                                                      \
    " --ranks " ranks " --set \"device_mesh={component_key: device_mesh, variant_key: default, "   \
    "config: {device_type: cpu, data_parallel_replicate_degree: 1, data_parallel_shard_degree: "   \
    "1, pipeline_parallel_degree: " pp ", tensor_parallel_degree: " tp ", world_size: " ranks      \
    "}}\""
#define STAGED_MODEL(rest)                                                                         \
    " --set \"text_inference_component.config.model={component_key: model, variant_key: "          \
    "parallelized, config: {model: {instance_key: model_raw, pass_type: BY_REFERENCE}, "           \
    "device_mesh: {instance_key: device_mesh, pass_type: BY_REFERENCE}, param_dtype: FP_32" rest   \
    "}}\" --set model_raw.config.n_head_kv=2"

TEST(ranks_that_share_layers_answer_as_one)
{
    static const char *const layouts[] = {
        STAGES("2", "2", "1") STAGED_MODEL(""),
        STAGES("2", "2", "1")
            STAGED_MODEL(", pipeline_schedule: Interleaved1F1B, stages_per_rank: 2"),
        STAGES("2", "2", "1") STAGED_MODEL(", pipeline_schedule: DualPipeV"),
        STAGES("4", "2", "2") STAGED_MODEL(""),
    };
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "ab", "{x}");
    const char *words = "--max_new_tokens 12 --temperature 0.7 --seed 3 --stop zz --set "
                        "model_raw.config.n_layer=3",
               *input = "ab\\nlonger prompt of some tokens\\n";
    Run one = run(a, &m, input, arena_printf(a, "%s" OWN_MODEL, words));
    assert_int_equal(one.status, 0);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        Run r = run(a, &m, input, arena_printf(a, "%s%s", words, layouts[i]));
        assert_int_equal(r.status, 0);
        assert_string_equal(r.output, one.output);
    }
    Run r = run(a, &m, "", arena_printf(a, "--prompt a" STAGES("2", "2", "1") OWN_MODEL));
    assert_int_equal(r.status, 1);
    assert_contains(r.errors, "pipeline_parallel_degree is 2, but nothing cuts the model");
    arena_free(a);
}

/* Of four blocks, with random weights. */
static void check_staged_blocks(const char *settings)
{
    static const char *const layouts[] = {
        STAGES("2", "2", "1") STAGED_MODEL(""),
        STAGES("4", "2", "2") STAGED_MODEL(""),
        STAGES("4", "2", "2") STAGED_MODEL(""),
    };
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "ab", "{x}");
    const char *words =
                   "--max_new_tokens 12 --temperature 0.7 --seed 3 --stop zz --set \"model_raw="
                   "{component_key: model, variant_key: decoder, config: {sample_key: input_ids, "
                   "prediction_key: logits, vocab_size: 257, sequence_length: 64, n_layer: 4, "
                   "n_embd: 16, n_head_q: 4, n_head_kv: 2, ffn_hidden: 16, rope: {}, ",
               *one_key = " --set model_raw.config.n_head_kv=1",
               *input = "ab\\nlonger prompt of some tokens\\n";
    words = arena_printf(a, "%s%s}}\"", words, settings);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const bool shares = i == 2 || strstr(settings, "joint_attention");
        const char *heads = shares ? one_key : "";
        Run one = run(a, &m, input, arena_printf(a, "%s" OWN_MODEL "%s", words, heads));
        Run r = run(a, &m, input, arena_printf(a, "%s%s%s", words, layouts[i], heads));
        if (r.status) fail_msg("%s", r.errors);
        assert_int_equal(one.status, 0);
        assert_string_equal(r.output, one.output);
    }
    arena_free(a);
}

/* Blocks 2 and 3 read the keys of block 1, which is on another rank. */
TEST(ranks_of_a_pipeline_keep_the_keys_that_their_layers_share_with_others)
{
    check_staged_blocks("layers: [{count: 2}, {count: 2, shared_kv: true}], per_layer_embedding: "
                        "{width: 6}");
}

TEST(ranks_of_a_pipeline_are_sent_all_streams)
{
    check_staged_blocks("layers: [{sparsity: 0.4}, {}], laurel_rank: 4, alternating_updates: "
                        "{streams: 3, active: 1, scale: true}, per_layer_embedding: {width: 6, "
                        "vocab_size: 99}");
}

TEST(ranks_of_a_pipeline_keep_the_windows_of_their_layers)
{
    check_staged_blocks("joint_attention: {query_rank: 6}, layers: [{window: 4, compress: 3, "
                        "overlaps: true}, {window: 4, compress: 4}]");
}

TEST(ranks_of_a_pipeline_look_up_the_experts_of_token_ids)
{
    check_staged_blocks("layers: [{sparse: true, by_id: true}, {sparse: true}], mixture: "
                        "{n_experts: 4, top_k: 2, hidden: 8}");
}

TEST(ranks_of_a_pipeline_are_sent_all_hyper_connected_streams)
{
    check_staged_blocks("hyper_connections: {streams: 3, iterations: 4}");
}

/* That of block 1 is, on another rank. */
TEST(ranks_of_a_pipeline_are_sent_what_is_added_behind_the_next_block)
{
    check_staged_blocks("layers: [{count: 3, sparse: true, shortcut: true}, {}], mixture: "
                        "{n_experts: 4, zero_experts: 2, top_k: 2, hidden: 8}");
}

TEST(ranks_of_a_pipeline_answer_a_file_side_by_side)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "ab", "{x}");
    const char *to = path_join(a, test_folder(), "answers.jsonl"),
               *from = path_join(a, test_folder(), "prompts.jsonl");
    Str answers[2];
    write_text(a, test_folder(), "prompts.jsonl",
               "{\"x\": \"a\"}\n{\"x\": \"longer b\"}\n{\"x\": \"b\"}\n");
    for (int i = 0; i < 2; i++) {
        Run r = run(a, &m, "",
                    arena_printf(a,
                                 "--max_new_tokens 5 --temperature 0.7 --batch_size %d "
                                 "--file_existence_policy override --prompts_file_path %s "
                                 "--output_file_path %s%s",
                                 i ? 2 : 1, from, to,
                                 i ? STAGES("2", "2", "1") STAGED_MODEL("") : OWN_MODEL));
        assert_int_equal(r.status, 0);
        assert_no_error(file_read(a, to, &answers[i]));
    }
    assert_contains(answers[0].ptr, "\"answer\"");
    assert_string_equal(answers[1].ptr, answers[0].ptr);
    arena_free(a);
}

TEST(ranks_answer_a_file_of_prompts_once)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "ab", "{x}");
    const char *to = path_join(a, test_folder(), "answers.jsonl"),
               *from = path_join(a, test_folder(), "prompts.jsonl");
    write_text(a, test_folder(), "prompts.jsonl",
               "{\"x\": \"a\"}\n{\"x\": \"longer b\"}\n{\"x\": \"b\"}\n");
    Str answers[2];
    for (int i = 0; i < 2; i++) {
        Run r = run(a, &m, "",
                    arena_printf(a,
                                 "--max_new_tokens 5 --temperature 0.7 --ranks 2 --batch_size %d "
                                 "--file_existence_policy override --prompts_file_path %s "
                                 "--output_file_path %s" MESH("2") SHARED_MODEL,
                                 i + 1, from, to));
        assert_int_equal(r.status, 0);
        assert_no_error(file_read(a, to, &answers[i]));
    }
    int n = 0;
    for (const char *at = answers[0].ptr; (at = strstr(at, "\"answer\"")); at++) n++;
    assert_int_equal(n, 3);
    assert_string_equal(answers[1].ptr, answers[0].ptr);
    arena_free(a);
}
