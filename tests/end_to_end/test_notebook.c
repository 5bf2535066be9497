/* test_notebook.c - what the 15-minute notebook prints is typed under torchrun, or with its
 * variables; and the launcher that torchrun is given. */
#include "cli/command_line.h"
#include <stdlib.h>
#include <string.h>

#define NAME "fineweb_edu_num_docs_483606"

/* The notebook's ten keys, enough text for one step. */
static void write_documents(const char *path)
{
    Text t = { 0 };
    for (int i = 0; i < 120; i++) {
        text_printf(&t, "{\"text\": \"");
        for (int k = 0; k < 100; k++) text_printf(&t, "The %d houses of page %d. ", k, i % 7);
        text_printf(&t,
                    "\", \"id\": \"<urn:uuid:%d>\", \"dump\": \"CC-MAIN-2013-20\", \"url\": "
                    "\"http://a.org/%d\", \"file_path\": \"s3://commoncrawl/%d.warc.gz\", "
                    "\"language\": \"en\", \"language_score\": 0.9235, \"token_count\": %d, "
                    "\"score\": 2.9, \"int_score\": 3}\n",
                    i, i, i, i + 100);
    }
    assert_no_error(file_write(path, t.ptr, t.len));
    text_free(&t);
}

/* torchrun --nnodes 1 --nproc_per_node 4 for one that is not there: its variables, its order. */
static const char torchrun_by_hand[] =
    "torchrun() {\n"
    "    while case $1 in --*) true ;; *) false ;; esac; do shift 2; done\n"
    "    export WORLD_SIZE=4 LOCAL_WORLD_SIZE=4 MASTER_ADDR=localhost MASTER_PORT=$$ "
    "TORCHELASTIC_RUN_ID=none OMP_NUM_THREADS=1\n"
    "    for rank in 1 2 3; do RANK=$rank LOCAL_RANK=$rank python3 -u \"$@\" & done\n"
    "    RANK=0 LOCAL_RANK=0 python3 -u \"$@\" || return 1\n"
    "    for job in $(jobs -p); do wait $job || return 1; done\n"
    "}\n";

static const char typed[] =
    "modalities data create_raw_index --index_path data/preprocessed/" NAME ".idx \\\n"
    "                                 data/raw/" NAME ".jsonl\n"
    "modalities data pack_encoded_data configs/tokenization_config.yaml\n"
    "CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --rdzv-endpoint localhost:29515 --nnodes 1 "
    "--nproc_per_node 4 \\\n"
    "                             $(which modalities) run --config_file_path "
    "configs/pretraining_config.yaml\n";

static bool has_torchrun(Arena *a)
{
    const char *output;
    return shell_run(a,
                     "PATH=$(dirname \"$(command -v \"${PYTHON:-python3}\")\"):$PATH; "
                     "command -v torchrun",
                     &output) == 0;
}

/* It has the real vocabulary, too large for the address sanitizer. */
TEST(notebook_with_its_real_vocabulary_runs_as_printed)
{
    Arena *a = arena_new();
    const char *here = path_join(a, path_absolute(a, test_folder()), "notebook"), *output;
    const char *bin = path_join(a, path_folder(a, path_absolute(a, program_path())), "bin");
    const char *given = path_absolute(a, shared_path(a, "data"));
    bool is_torchrun = has_torchrun(a);
    assert_no_error(make_directories(path_join(a, here, "data/raw")));
    assert_no_error(make_directories(path_join(a, here, "data/preprocessed")));
    write_documents(path_join(a, here, "data/raw/" NAME ".jsonl"));
    const char *script = arena_printf(
        a,
        "cd %s && ln -s %s/notebook/configs configs && ln -s %s/tokenizers/gpt2 data/tokenizer && "
        "export PATH=%s:$(dirname \"$(command -v \"${PYTHON:-python3}\")\"):$PATH && unset RANK "
        "WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE\n%s%s",
        here, given, given, bin, is_torchrun ? "" : torchrun_by_hand, typed);
    int status = shell_run(a, script, &output);
    if (status) fail_msg("status %d: %s", status, output);
    assert_contains(output, "experiments go to experiments/ in the present folder");
    assert_contains(output, "4 processes were started");
    assert_contains(output, "it runs here as 4 CPU ranks");
    const char *first = strstr(output, "Start model training");
    assert_non_null(first);
    assert_null(strstr(first + 1, "Start model training"));
    assert_contains(output, "Training done at");
    assert_true(is_directory(path_join(a, here, "data/checkpoints")));
    assert_int_equal(
        shell_run(
            a, arena_printf(a, "cd %s && ls experiments/*/pretraining_config.yaml.resolved", here),
            &output),
        0);
    test_note("%s", is_torchrun ? "torchrun" : "no torchrun: its variables by hand");
    arena_free(a);
}

/* The launcher with a program that tells how it was started. */
static const char *make_launcher(Arena *a)
{
    const char *here = path_absolute(a, test_folder()), *output;
    const char *from =
        path_join(a, path_folder(a, path_absolute(a, program_path())), "bin/modalities");
    const char *command = arena_printf(
        a,
        "mkdir -p %s/bin %s/libexec %s/other/bin && cp %s %s/bin/ && cd %s && "
        "printf '#!/bin/sh\\necho \"$#:$*\"\\ngrep SigIgn /proc/$$/status\\nexit 7\\n' "
        ">libexec/modalities && chmod 755 libexec/modalities && "
        "ln -s ../../bin/modalities other/bin/relative && ln -s $PWD/other/bin/relative absolute "
        "&& ln -s bin linked && "
        "printf '#!/bin/sh\\ntrap \"\" PIPE\\nexec \"$@\"\\n' >ignoring && chmod 755 ignoring",
        here, here, here, from, here, here);
    if (shell_run(a, command, &output)) fail_msg("%s", output);
    return here;
}

/* Neither the program nor its tests need it. */
static bool has_python(void)
{
    return system("command -v python3 >/dev/null 2>&1") == 0;
}

TEST(launcher_finds_the_program_however_it_is_called)
{
    Arena *a = arena_new();
    const char *here = make_launcher(a), *output;
    static const char *const calls[] = {
        "bin/modalities",
        "./bin/modalities",
        "$PWD/bin/modalities",
        "linked/modalities",
        "./absolute",
        "other/bin/relative",
        "sh bin/modalities",
        "bash bin/modalities",
        "python3 bin/modalities",
        "python3 -u ./absolute",
        "python3 other/bin/relative",
        "PATH=bin:$PATH modalities",
        "PATH=$PWD/other/bin:$PATH relative",
    };
    if (!has_python()) test_note("no python3: called by shells only");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (str_starts(str_of(calls[i]), "python3") && !has_python()) continue;
        const char *command =
            arena_printf(a, "cd %s && %s 'a  b' '' \"it's\" --x=*", here, calls[i]);
        int status = shell_run(a, command, &output);
        if (status != 7 || !strstr(output, "4:a  b  it's --x=*\n"))
            fail_msg("%s: status %d: %s", calls[i], status, output);
        /* Python ignores SIGPIPE (bit 12) and SIGXFSZ (bit 24); the program must not inherit that
         */
        const char *mask = strstr(output, "SigIgn:");
        assert_non_null(mask);
        assert_int_equal(strtoull(mask + strlen("SigIgn:"), NULL, 16) & (1u << 12 | 1u << 24), 0);
    }
    arena_free(a);
}

TEST(launcher_without_its_program_says_so)
{
    Arena *a = arena_new();
    const char *here = make_launcher(a), *output;
    assert_int_equal(
        shell_run(a, arena_printf(a, "cd %s && rm libexec/modalities && bin/modalities x", here),
                  &output),
        127);
    assert_contains(output, "the program is not at bin/../libexec/modalities");
    if (has_python()) {
        assert_int_equal(
            shell_run(a, arena_printf(a, "cd %s && python3 bin/modalities x", here), &output), 1);
        assert_contains(output, "No such file or directory");
    }
    arena_free(a);
}

TEST(what_is_installed_without_root_runs_and_is_uninstalled)
{
    Arena *a = arena_new();
    const char *here = path_absolute(a, test_folder()), *output;
    const char *build = path_folder(a, path_absolute(a, program_path()));
    if (strstr(build, "-address") || strstr(build, "-thread")) test_skip("built with a sanitizer");
    if (!file_exists("Makefile")) test_skip("not run in the root of the repository");
    const char *script = arena_printf(
        a,
        "set -e; unset MAKEFLAGS MFLAGS MAKELEVEL; root=$PWD; to=%s/home/.local\n"
        "make -s install BUILD=%s PREFIX=$to -o all\n"
        "ln -s home/.local/bin/modalities %s/link; cd %s\n"
        "./link --version\nPATH=$to/bin:$PATH modalities config check --config_file_path "
        "$to/share/modalities/configs/training/small.yaml\n"
        "test -x $to/libexec/modalities\nmake -s -C $root uninstall PREFIX=$to\n"
        "echo left: $(find home -type f)",
        here, build, here, here);
    if (shell_run(a, script, &output)) fail_msg("%s", output);
    assert_contains(output, "modalities ");
    assert_contains(output, "no mistake found");
    assert_contains(output, "left:\n");
    arena_free(a);
}
