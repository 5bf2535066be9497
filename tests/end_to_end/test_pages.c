/* test_pages.c - the commands of README.md and docs/tutorial.md are typed, as they stand there,
 * each in an empty folder.
 *
 * Commands are what stands in blocks that begin with ```sh; lines of `make` are left out. The text
 * is the test's own, and $SET, which the pages name, makes the trainings short. */
#include "cli/command_line.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The commands of a page, one block after the other. */
static const char *commands_of(Arena *a, const char *page)
{
    Str text;
    Text out = { 0 };
    bool inside = false;
    assert_no_error(file_read(a, page, &text));
    for (const char *line = text.ptr; *line;) {
        size_t n = strcspn(line, "\n");
        const char *one = arena_string_n(a, line, n);
        if (!strncmp(one, "```", 3))
            inside = !inside && !strcmp(one, "```sh");
        else if (inside && strncmp(one, "make ", 5) != 0)
            text_printf(&out, "%s\n", one);
        line += n + (line[n] == '\n');
    }
    assert_true(out.len > 0);
    const char *commands = arena_string(a, out.ptr);
    text_free(&out);
    return commands;
}

/* Documents of words that follow each other in few ways, so that there is something to learn, with
 * the keys of the notebook's. */
static void write_corpus(const char *path)
{
    static const char *const words[] = { "the ", "cat ",  "sat ",  "on ",   "a ",     "mat ",
                                         "and ", "then ", "went ", "home ", "again ", "slowly " };
    Text t = { 0 };
    unsigned at = 1;
    for (int document = 0; document < 400; document++) {
        text_puts(&t, "{\"text\": \"");
        for (int i = 0; i < 60; i++) {
            at = at * 1103515245 + 12345;
            text_puts(&t, words[(unsigned)(i + (at >> 28)) % 12]);
        }
        text_printf(&t,
                    "\", \"id\": \"<urn:uuid:%d>\", \"dump\": \"CC-MAIN-2013-20\", \"url\": "
                    "\"http://a.org/%d\", \"file_path\": \"s3://commoncrawl/%d.warc.gz\", "
                    "\"language\": \"en\", \"language_score\": 0.9235, \"token_count\": 60, "
                    "\"score\": 2.9, \"int_score\": 3}\n",
                    document, document, document);
    }
    assert_no_error(file_write(path, t.ptr, t.len));
    text_free(&t);
}

/* An empty folder that stands for the checkout: with its build and its configurations. */
static const char *empty_folder(Arena *a)
{
    const char *folder = path_join(a, path_absolute(a, test_folder()), "checkout"), *said;
    const char *build = path_folder(a, path_absolute(a, program_path()));
    assert_no_error(make_directories(folder));
    int status = shell_run(a,
                           arena_printf(a, "ln -s %s %s/build && ln -s $PWD/configs %s/configs",
                                        build, folder, folder),
                           &said);
    if (status) fail_msg("%s", said);
    return folder;
}

static const char *type(Arena *a, const char *page, const char *set)
{
    const char *folder = empty_folder(a), *said;
    write_corpus(path_join(a, folder, "corpus.jsonl"));
    const char *script = path_join(a, folder, "script");
    const char *commands = commands_of(a, page);
    assert_no_error(file_write(script, commands, strlen(commands)));
    int status = shell_run(
        a, arena_printf(a, "cd %s && LC_ALL=C SET=\"%s\" bash -e -x script", folder, set), &said);
    if (status) printf("%s\n", said); /* longer than a message can be */
    if (status) fail_msg("%s: status %d", page, status);
    return said;
}

TEST(the_commands_of_the_readme_work_as_they_are_printed)
{
    Arena *a = arena_new();
    const char *said = type(a, "README.md",
                            "--set settings.training_target.num_target_steps=20 "
                            "--set settings.intervals.training_log_interval_in_steps=5 "
                            "--set settings.intervals.checkpointing_interval_in_steps=10 "
                            "--set settings.intervals.evaluation_interval_in_steps=10 "
                            "--set settings.intervals.evaluation_batches=2 "
                            "--set settings.step_profile.sequence_length=64 "
                            "--set settings.step_profile.local_train_micro_batch_size=1 "
                            "--set lr_scheduler.config.warmup_steps=5");
    assert_contains(said, "All 20 steps are done and saved.");
    assert_contains(said, "experiments/first/evaluation_results.jsonl: 20 steps");
    assert_contains(said, "Prompt:  In the beginning");
    assert_contains(said, "\nB  second ");
    assert_contains(said, "optimizer.config.lr and 1 more");
    assert_contains(said, "nothing is left to do");
    assert_contains(said, "experiments/second  done   20/20 ");
    arena_free(a);
}

/* What the tutorial takes from elsewhere: the notebook's files where a checkout of the original has
 * them, and a torchrun that sets the variables of --nproc_per_node 4. */
static void make_original(Arena *a, const char *folder)
{
    const char *given = path_absolute(a, shared_path(a, "data")), *said;
    static const char torchrun[] =
        "#!/bin/sh\n"
        "while case $1 in --*) true ;; *) false ;; esac; do shift 2; done\n"
        "export WORLD_SIZE=4 LOCAL_WORLD_SIZE=4 MASTER_ADDR=localhost MASTER_PORT=$$ "
        "OMP_NUM_THREADS=1\n"
        "for rank in 1 2 3; do RANK=$rank LOCAL_RANK=$rank python3 -u \"$@\" & waiting=\"$waiting "
        "$!\"; done\n"
        "RANK=0 LOCAL_RANK=0 python3 -u \"$@\" || exit 1\n"
        "for one in $waiting; do wait $one || exit 1; done\n";
    int status = shell_run(
        a,
        arena_printf(a,
                     "mkdir -p %s/bin %s/tutorials/modalities_in_15_mins %s/data/tokenizer && "
                     "cd %s && ln -s %s/notebook/configs tutorials/modalities_in_15_mins/configs "
                     "&& ln -s %s/tokenizers/gpt2 data/tokenizer/hf_gpt2",
                     folder, folder, folder, folder, given, given),
        &said);
    if (status) fail_msg("%s", said);
    const char *program = path_join(a, folder, "bin/torchrun");
    assert_no_error(file_write(program, torchrun, strlen(torchrun)));
    assert_int_equal(chmod(program, 0755), 0);
}

/* It has the real vocabulary, too large for the address sanitizer. */
TEST(the_commands_of_the_tutorial_work_with_the_real_vocabulary)
{
    Arena *a = arena_new();
    const char *original = path_join(a, path_absolute(a, test_folder()), "original");
    make_original(a, original);
    assert_int_equal(setenv("ORIGINAL", original, 1), 0);
    assert_int_equal(setenv("PATH", arena_printf(a, "%s/bin:%s", original, getenv("PATH")), 1), 0);
    const char *said = type(a, "docs/tutorial.md",
                            "--set settings.training_target.num_target_steps=10 "
                            "--set settings.training_target.num_target_tokens=5120 "
                            "--set settings.intervals.checkpointing_interval_in_steps=10 "
                            "--set settings.step_profile.sequence_length=64 "
                            "--set settings.step_profile.local_train_micro_batch_size=2");
    assert_contains(said, "fineweb_edu_num_docs_483606.pbin: 400 documents, ");
    assert_contains(said, "experiments go to experiments/ in the present folder");
    assert_contains(
        said,
        "4 processes were started; the one with LOCAL_RANK=0 trains, its threads are the ranks");
    assert_contains(said, "All 10 steps are done and saved.");
    assert_contains(said, "  done   10/10\n");
    assert_contains(said, "history.jsonl:\n  10 steps, 5.12k tokens");
    assert_contains(said, "the target of 10 steps is reached; nothing is left to do");
    assert_contains(said, "Prompt:  Lorem ipsum\n");
    assert_contains(said, " max tokens reached\n");
    arena_free(a);
}
