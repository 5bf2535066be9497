/* test_environment.c - the table of variables is all that is read. */
#include "base/environment.h"
#include "cli/command_line.h"
#include <stdio.h>

/* Configurations read variables by name in the resolver; everything else goes through the table. */
TEST(only_the_table_of_variables_and_configurations_read_the_environment)
{
    FILE *found = popen("grep -rlw --include=*.c getenv src cli | sort", "r");
    char text[500] = "";
    assert_non_null(found);
    text[fread(text, 1, sizeof text - 1, found)] = 0;
    pclose(found);
    assert_string_equal(text, "src/base/environment.c\nsrc/config/resolver.c\n");
}

TEST(every_variable_is_in_the_help)
{
    Arena *a = arena_new();
    const char *help, *topic;
    assert_int_equal(command_line_run(a, "--help", &help), 0);
    assert_int_equal(command_line_run(a, "help environment", &topic), 0);
    int n = 0;
    for (const EnvironmentVariable *v = environment_variables; v->name; v++, n++) {
        assert_contains(help, arena_printf(a, "  %s ", v->name));
        assert_contains(topic, arena_printf(a, "  %s ", v->name));
    }
    assert_true(n > 5);
    arena_free(a);
}
