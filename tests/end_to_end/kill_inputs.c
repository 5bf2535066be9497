/* kill_inputs.c - inputs of all data commands, and running them under the shim. */
#include "end_to_end/kill_inputs.h"
#include "compressed.h"
#include "data/packed_file.h"
#include "test.h"
#include "tokenizer/small_tokenizer.h"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { N_LINES = 30 };

const char *kill_path(Arena *a, const char *name)
{
    return path_join(a, test_folder(), name);
}

void kill_put(Arena *a, const char *name, Str content)
{
    Compression kind = compression_of(name);
    if (kind) content = compressed(a, kind, content);
    assert_no_error(make_directories(path_folder(a, kill_path(a, name))));
    assert_no_error(file_write(kill_path(a, name), content.ptr, content.len));
}

/* Lines with texts; each seventh one is bad if `some_bad`. */
Str kill_lines(Arena *a, int first, bool some_bad)
{
    Text t = { 0 };
    for (int i = first; i < first + N_LINES; i++)
        text_printf(&t, some_bad && i % 7 == 0 ? "{\"text\": %d}\n" : "{\"text\": \"line %d\"}\n",
                    i);
    Str result = { arena_copy(a, t.ptr, t.len), t.len };
    text_free(&t);
    return result;
}

static Str conversations(Arena *a)
{
    Text t = { 0 };
    for (int i = 0; i < 6000; i++)
        text_printf(&t, "{\"m\": [{\"role\": \"%s\", \"content\": \"%d\"}]}\n",
                    i % 500 == 7 ? "unknown" : "a", i);
    Str result = { arena_copy(a, t.ptr, t.len), t.len };
    text_free(&t);
    return result;
}

static Str many_lines(Arena *a)
{
    enum { BYTES = 20 << 20, LINE = 1000 };
    char *bytes = arena_alloc(a, BYTES);
    for (int i = 0; i < BYTES; i++) bytes[i] = i % LINE == LINE - 1 ? '\n' : (char)('a' + i % 23);
    return (Str){ bytes, BYTES };
}

/* Runs the program in the test's folder with variables in front; `faults` for the shim, or "".
 * Returns the exit status, 128 + n for signal n. */
int kill_run(Arena *a, const char *variables, const char *faults, const char *args,
             const char **said)
{
    Str text;
    const char *preload =
        *faults ? arena_printf(a, "LD_PRELOAD=%s ASAN_OPTIONS=verify_asan_link_order=0 %s",
                               test_tool(a, "crash_shim.so"), faults)
                : "";
    int status = system(arena_printf(a, "cd %s && env %s %s %s %s > said 2>&1", test_folder(),
                                     variables, preload, path_absolute(a, program_path()), args));
    assert_no_error(file_read(a, kill_path(a, "said"), &text));
    *said = text.ptr;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void kill_must(Arena *a, const char *args)
{
    const char *said;
    if (kill_run(a, "", "", args, &said)) fail_msg("%s: %s", args, said);
}

void kill_make_inputs(Arena *a)
{
    kill_put(a, "in/a.jsonl", kill_lines(a, 0, true));
    kill_put(a, "in/b.jsonl.gz", kill_lines(a, 100, false));
    kill_put(a, "in/c.jsonl.zst", kill_lines(a, 200, true));
    kill_put(a, "plain.jsonl", kill_lines(a, 300, false));
    kill_put(a, "big.jsonl", many_lines(a));
    kill_put(a, "list", str_of("big\n"));
    kill_put(a, "chats.jsonl", conversations(a));
    int64_t *length = NEW_N(a, int64_t, 5000);
    for (int i = 0; i < 5000; i++) length[i] = 1 + i * 7919 % 2000;
    packed_file(a, "big.pbin", 4, 1, length, 5000);
    static const char *const merges[] = { "l i", "n e", NULL };
    small_tokenizer(
        a, merges,
        "[{\"id\": 258, \"content\": \"<|endoftext|>\", \"single_word\": false, "
        "\"lstrip\": false, \"rstrip\": false, \"normalized\": false, \"special\": true}]");
    static const char tokenizer[] =
        "tokenizer: {component_key: tokenizer, variant_key: pretrained_hf_tokenizer, "
        "config: {pretrained_model_name_or_path: tokenizer.json}}\n";
    static const char settings[] =
        "settings: {src_path: plain.jsonl, dst_path: out.pbin, jq_pattern: %s, eod_token: "
        "<|endoftext|>, num_cpus: 2, processing_batch_size: %d, raw_samples_queue_size: 2, "
        "processed_samples_queue_size: 2}\n%s";
    kill_put(a, "pack.yaml", str_of(arena_printf(a, settings, ".text", 2, tokenizer)));
    kill_put(a, "pack_chats.yaml", str_of(arena_printf(a, settings, ".chat", 500, tokenizer)));
    kill_put(a, "chat.yaml",
             str_of("settings: {src_path: chats.jsonl, dst_path: t.jsonl, messages_key: m, "
                    "pbin_creation_config_file_path: pack_chats.yaml, on_bad_line: skip, "
                    "bad_line_report: report.jsonl, split_config: {splitting: {train: "
                    "80, val: 20, test: 0}, seed: 3}}\n"
                    "instruction_data_transformation: {role_mapping: {a: b}}\n"
                    "jinja2_chat_template: \"{{ messages[0].role }}: {{ messages[0].content }}\"\n"
                    "chat_template_data: {}\n"));
    kill_must(a, "data create_raw_index plain.jsonl" REWRITE);
    kill_must(a, "data export_megatron big.pbin big" REWRITE);
}
