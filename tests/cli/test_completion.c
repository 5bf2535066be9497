/* test_completion.c - shells complete commands, options and values; the manual page is one. */
#include "cli/command_line.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

/* What bash would offer for these words, of which the last is being typed. */
static const char *offered(Arena *a, const char *words, int n)
{
    const char *output;
    const char *command = arena_printf(
        a,
        "bash --norc -c 'source <(%s completion bash); COMP_WORDS=(modalities %s); "
        "COMP_CWORD=%d; _modalities; echo \"${COMPREPLY[*]}\"'",
        getenv("MODALITIES_PROGRAM") ? getenv("MODALITIES_PROGRAM") : "build/modalities", words, n);
    assert_int_equal(shell_run(a, command, &output), 0);
    return output;
}

TEST(bash_completes_commands_groups_options_and_values)
{
    Arena *a = arena_new();
    assert_string_equal(offered(a, "warm", 1), "warmstart\n");
    assert_string_equal(offered(a, "swe", 1), "sweep\n");
    assert_string_equal(offered(a, "sweep r", 2), "report run\n");
    assert_string_equal(offered(a, "sweep report --base", 3), "--baseline\n");
    assert_string_equal(offered(a, "run --config_f", 2), "--config_file_path\n");
    assert_string_equal(offered(a, "config resolve --format j", 4), "json\n");
    assert_string_equal(offered(a, "run x", 2), "\n"); /* files, by the shell's default */
    arena_free(a);
}

TEST(bash_completes_what_help_explains)
{
    Arena *a = arena_new();
    assert_string_equal(offered(a, "help adam", 2), "adam adam_w\n");
    assert_string_equal(offered(a, "help optimizer.adam_", 2), "optimizer.adam_w\n");
    assert_string_equal(offered(a, "help environ", 2), "environment\n");
    assert_string_equal(offered(a, "help warms", 2), "warmstart\n");
    assert_string_equal(offered(a, "help sweep r", 3), "report run\n");
    assert_string_equal(offered(a, "help component optimizer.adam", 3),
                        "optimizer.adam optimizer.adam_w\n");
    assert_string_equal(offered(a, "help component warms", 3), "\n"); /* a command is none */
    assert_string_equal(offered(a, "help settings pa", 3), "packing\n");
    assert_string_equal(offered(a, "help --h", 2), "--help\n");
    assert_string_equal(offered(a, "run adam", 2), "\n");
    arena_free(a);
}

/* By what zsh has for completions of bash. */
TEST(zsh_completes_as_bash_does)
{
    Arena *a = arena_new();
    const char *bash, *zsh, *status;
    assert_int_equal(command_line_run(a, "completion bash", &bash), 0);
    assert_int_equal(command_line_run(a, "completion zsh", &zsh), 0);
    const char *first = "autoload -U +X bashcompinit && bashcompinit\n";
    assert_true(!strncmp(zsh, first, strlen(first)));
    assert_string_equal(zsh + strlen(first), bash);
    assert_int_equal(command_line_run(a, "completion tcsh", &status), 2);
    arena_free(a);
}

TEST(fish_gets_a_line_for_each_command_and_option)
{
    Arena *a = arena_new();
    const char *output;
    assert_int_equal(command_line_run(a, "completion fish", &output), 0);
    assert_non_null(strstr(output, "-n __fish_use_subcommand -a warmstart -d '"));
    assert_non_null(strstr(output, "'__fish_seen_subcommand_from warmstart' -l set -r -d '"));
    assert_contains(output, "from help; and test (count (commandline -opc)) -eq 2' -a adam_w -d '");
    assert_contains(output, "from component; and test (count (commandline -opc)) -eq 3' -a "
                            "optimizer.adam_w -d '");
    assert_contains(output, "from sweep; and test (count (commandline -opc)) -eq 3' -a report -d");
    assert_contains(output, "from settings; and test (count (commandline -opc)) -eq 3' -a packing");
    arena_free(a);
}

TEST(manual_page_has_every_command_and_no_line_that_roff_would_take)
{
    Arena *a = arena_new();
    const char *output;
    assert_int_equal(command_line_run(a, "docs man", &output), 0);
    assert_non_null(strstr(output, ".SS \"sweep report\"\n"));
    assert_non_null(strstr(output, "\\-\\-baseline"));
    assert_contains(output, ".SH ENVIRONMENT\n.nf\n");
    for (const char *line = output; *line; line = strchr(line, '\n') + 1) {
        static const char *const known[] = { ".TH", ".SH", ".SS", ".B ", ".I ", ".nf", ".fi" };
        bool is_known = *line != '.';
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_known |= !strncmp(line, known[i], 3);
        if (!is_known) fail_msg("%.40s", line);
    }
    arena_free(a);
}
