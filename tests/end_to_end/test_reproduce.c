/* test_reproduce.c - `modalities reproduce`: the same bits again, and what is to blame where there
 * are others. */
#include "end_to_end/training.h"
#include <stdlib.h>
#include <string.h>

static const char *folder_of(const Bench *b, const char *id)
{
    return path_join(b->arena, b->root, id);
}

static Outcome reproduce(const Bench *b, const char *id, const char *more, const char *value,
                         Words variables)
{
    const char *words[] = { "reproduce", folder_of(b, id), more, value, NULL };
    return command_output(b->arena, words, variables);
}

static void assert_parts(Outcome o, const char *why)
{
    assert_int_equal(o.status, 1);
    assert_contains(o.text, " parts:\n  then loss ");
    assert_contains(o.text, why);
}

/* Another number for many tokens of two bytes. */
static void change(Arena *a, const char *path, size_t at)
{
    Str text;
    assert_no_error(file_read(a, path, &text));
    char *bytes = arena_copy(a, text.ptr, text.len);
    for (size_t i = at; i < text.len / 2; i += 2) bytes[i] ^= 1;
    assert_no_error(file_write(path, bytes, text.len));
}

TEST(the_first_steps_of_a_run_come_again_with_the_same_bits)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "x", NULL, NULL, NULL));
    Outcome o = reproduce(&b, "x", NULL, NULL, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "8 steps: every loss and gradient norm has the same bits\n");
    assert_null(strstr(o.text, "although"));
    o = reproduce(&b, "x", "--steps", "3", NULL);
    assert_contains(o.text, "3 steps: every loss");
    o = reproduce(&b, "x", "--threads", "2", NULL);
    assert_contains(o.text, "8 steps: every loss");
    arena_free(b.arena);
}

TEST(reproduce_names_the_file_that_has_changed)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "x", NULL, NULL, NULL));
    change(b.arena, b.pbin, 64);
    Outcome o = reproduce(&b, "x", NULL, NULL, NULL);
    assert_parts(o, "What is not as it was then:\n  ");
    assert_contains(o.text, ".pbin: other bytes than then\n");
    assert_null(strstr(o.text, "instruction set:"));
    arena_free(b.arena);
}

/* A copy of a plugin is one of the files of a run. */
TEST(reproduce_names_the_plugin_that_has_changed)
{
    Bench b = bench_new();
    const char *plugin = path_join(b.arena, path_absolute(b.arena, test_folder()), "lion.so");
    const char *words[] = { "--set", arena_printf(b.arena, "plugins=[%s]", plugin), NULL };
    Str content;
    assert_no_error(file_read(b.arena, test_tool(b.arena, "../examples/lion.so"), &content));
    assert_no_error(file_write(plugin, content.ptr, content.len));
    assert_ended_well(bench_run(&b, "x", NULL, words, NULL));
    Text longer = { 0 }; /* works as before */
    text_add(&longer, content.ptr, content.len);
    text_puts(&longer, "more");
    assert_no_error(file_write(plugin, longer.ptr, longer.len));
    text_free(&longer);
    Outcome o = reproduce(&b, "x", NULL, NULL, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "8 steps: every loss and gradient norm has the same bits\n");
    assert_contains(o.text, "/lion.so: ");
    arena_free(b.arena);
}

/* Nothing is left open in it. */
TEST(the_resolved_configuration_of_a_run_is_one)
{
    Bench b = bench_new();
    Str text;
    const char *resolved = path_join(b.arena, folder_of(&b, "x"), "train.yaml.resolved");
    assert_ended_well(bench_run(&b, "x", NULL, NULL, NULL));
    assert_no_error(file_read(b.arena, resolved, &text));
    assert_contains(text.ptr, b.pbin);
    assert_contains(text.ptr, "num_target_steps: 8\n");
    assert_null(strstr(text.ptr, "${"));
    const char *check[] = { "config", "check", "--config_file_path", resolved, NULL };
    assert_ended_well(command_output(b.arena, check, NULL));
    arena_free(b.arena);
}

TEST(reproduce_names_what_has_changed_where_steps_cannot_be_repeated)
{
    Bench b = bench_new();
    assert_ended_well(bench_run(&b, "x", NULL, NULL, NULL));
    change(b.arena, b.pbin, 65); /* ids that the model does not have */
    Outcome o = reproduce(&b, "x", NULL, NULL, NULL);
    assert_int_equal(o.status, 1);
    assert_contains(o.text, "the model's vocabulary allows 0 to 63\nWhat is not as it was then:\n");
    assert_contains(o.text, ".pbin: other bytes than then\n");
    arena_free(b.arena);
}

TEST(reproduce_names_the_instruction_set_and_a_changed_configuration)
{
    Bench b = bench_new();
    const char *scalar[] = { "MODALITIES_CPU=scalar", NULL },
               *avx2[] = { "MODALITIES_CPU=avx2", NULL };
    assert_ended_well(bench_run(&b, "x", NULL, NULL, scalar));
    Outcome o = reproduce(&b, "x", NULL, NULL, scalar);
    assert_contains(o.text, "8 steps: every loss");
    o = reproduce(&b, "x", NULL, NULL, avx2);
    if (strstr(o.text, "the CPU has no")) test_skip("this CPU has no AVX2");
    assert_parts(o, "  instruction set: then scalar, now avx2\n");

    const char *yaml = path_join(b.arena, folder_of(&b, "x"), "kept_config.yaml");
    Str text;
    assert_no_error(file_read(b.arena, yaml, &text));
    char *at = strstr(arena_copy(b.arena, text.ptr, text.len + 1), "seed: 7");
    assert_non_null(at);
    at[6] = '8';
    char *begin = at - (strstr(text.ptr, "seed: 7") - text.ptr);
    assert_no_error(file_write(yaml, begin, text.len));
    assert_parts(reproduce(&b, "x", NULL, NULL, scalar), "the configuration is another one\n");
    arena_free(b.arena);
}

TEST(two_ranks_reproduce_and_another_number_is_named)
{
    Bench b = bench_new();
    const char *two[] = { "--ranks", "2", NULL };
    assert_ended_well(bench_run(&b, "x", NULL, two, NULL));
    Outcome o = reproduce(&b, "x", NULL, NULL, NULL);
    assert_ended_well(o);
    assert_contains(o.text, "8 steps: every loss and gradient norm has the same bits\n");
    assert_parts(reproduce(&b, "x", "--ranks", "1", NULL), "  ranks: then 2, now 1\n");
    arena_free(b.arena);
}

/* What a run that was stopped keeps is the beginning of what it keeps in the end. */
TEST(a_resumed_run_keeps_each_step_once)
{
    Bench b = bench_new();
    const char *half[] = { "--set", "settings.training_target.num_target_steps=4", "--set",
                           "lr_scheduler.config.total_steps=8", NULL };
    const char *resume[] = { "resume", folder_of(&b, "x"), "--set",
                             "settings.training_target.num_target_steps=8", NULL };
    assert_ended_well(bench_run(&b, "x", NULL, half, NULL));
    assert_ended_well(command_output(b.arena, resume, NULL));
    Str text;
    const char *path = path_join(b.arena, folder_of(&b, "x"), "first_steps.jsonl");
    assert_no_error(file_read(b.arena, path, &text));
    const char *p = text.ptr;
    for (int step = 1; step <= 8; step++) {
        const char *begin = arena_printf(b.arena, "{\"step\": %d, \"loss\": [", step);
        assert_int_equal(strncmp(p, begin, strlen(begin)), 0);
        p = strchr(p, '\n') + 1;
    }
    assert_int_equal(*p, 0);
    Outcome o = reproduce(&b, "x", NULL, NULL, NULL);
    assert_contains(o.text, "8 steps: every loss");
    arena_free(b.arena);
}

TEST(reproduce_refuses_a_folder_without_a_run)
{
    Bench b = bench_new();
    assert_refused(reproduce(&b, ".", NULL, NULL, NULL), 1, "there is nothing to reproduce");
    arena_free(b.arena);
}
