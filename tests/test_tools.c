/* test_tools.c - what a contributor types: make's lines, and the checks of format and docs. */
#include "cli/command_line.h"
#include <stdlib.h>
#include <string.h>

/* A repository with the tools of this one, README.md as its only committed file, and one file that
 * is laid out wrongly and not yet added. */
static Arena *begin(void)
{
    Arena *a = arena_new();
    const char *said;
    if (!file_exists("tools/files.sh")) test_skip("not run in the root of the repository");
    if (system("command -v git >/dev/null 2>&1") != 0) test_skip("there is no git");
    setenv("REPOSITORY", path_join(a, path_absolute(a, test_folder()), "repository"), 1);
    int status = shell_run(
        a,
        "unset MAKEFLAGS MFLAGS MAKELEVEL && mkdir -p $REPOSITORY/src/base $REPOSITORY/tests "
        "$REPOSITORY/plugins && cp plugins/cuda.mk $REPOSITORY/plugins && "
        "cp -r Makefile .clang-format tools $REPOSITORY && cd $REPOSITORY && "
        "git init -q . && echo text > README.md && git add README.md && "
        "printf '/* one.c - one number. */\\nint one(void);\\nint  one(void)\\n"
        "{\\n    return 1;\\n}\\n' > src/base/one.c",
        &said);
    if (status) fail_msg("%s", said);
    return a;
}

static int in_repository(Arena *a, const char *command, const char **said)
{
    return shell_run(
        a,
        arena_printf(a, "unset MAKEFLAGS MFLAGS MAKELEVEL && cd $REPOSITORY && { %s; }", command),
        said);
}

TEST(make_prints_a_short_line_per_file_and_the_commands_with_v_1)
{
    Arena *a = begin();
    const char *said;
    assert_int_equal(in_repository(a, "make build/libmodalities.a", &said), 0);
    assert_string_equal(said, "CC   src/base/one.c\nAR   build/libmodalities.a\n");
    assert_int_equal(in_repository(a, "rm -r build && make -s build/libmodalities.a", &said), 0);
    assert_string_equal(said, "");
    assert_int_equal(in_repository(a, "rm -r build && make V=1 build/libmodalities.a", &said), 0);
    assert_contains(said, "-c src/base/one.c -o build/src/base/one.o\n");
    assert_null(strstr(said, "CC   "));
    arena_free(a);
}

TEST(check_format_names_only_what_is_wrong_in_files_not_yet_added_too)
{
    Arena *a = begin();
    const char *said;
    if (system("command -v clang-format >/dev/null 2>&1") != 0)
        test_skip("there is no clang-format");
    assert_true(in_repository(a, "make -s check-format", &said) != 0);
    assert_true(strstr(said, "src/base/one.c:3:4\n") == said);
    assert_contains(said, "make format\n");
    assert_int_equal(in_repository(a, "make format check-format", &said), 0);
    assert_string_equal(said, "");
    arena_free(a);
}

TEST(check_docs_sees_files_not_yet_added_and_no_deleted_ones)
{
    Arena *a = begin();
    const char *said;
    assert_int_equal(in_repository(a, "tools/check_docs.sh", &said), 0);
    assert_int_equal(
        in_repository(a, "echo 'int two;' > src/base/two.c; tools/check_docs.sh", &said), 1);
    assert_contains(said, "src/base/two.c: the first line must be ");
    assert_int_equal(
        in_repository(a, "git add src && rm src/base/two.c && tools/check_docs.sh", &said), 0);
    arena_free(a);
}

TEST(the_sample_of_a_component_is_a_file_as_it_is)
{
    Arena *a = arena_new();
    Str sample, file;
    assert_no_error(file_read(a, "src/config/README.md", &sample));
    assert_no_error(file_read(a, "src/optim/step_lr.c", &file));
    assert_contains(sample.ptr,
                    arena_printf(a, "`src/optim/step_lr.c`:\n\n```c\n%s```\n", file.ptr));
    arena_free(a);
}

TEST(a_check_of_bad_paths_that_finds_nothing_to_try_fails)
{
    Arena *a = begin();
    const char *said;
    int status = in_repository(a,
                               "mkdir -p build && printf '#!/bin/sh\\nexit 0\\n' >build/modalities "
                               "&& chmod +x build/modalities && mkdir -p tests/end_to_end && "
                               "touch tests/end_to_end/train.yaml && tools/bad_paths.sh 2>&1",
                               &said);
    assert_int_equal(status, 1);
    assert_contains(said, "no options and arguments to try");
    arena_free(a);
}

/* A name with a digit, and one that takes the whole line; a mark that stands below its option. */
TEST(a_check_of_bad_paths_finds_every_command_and_what_it_requires)
{
    static const char program[] =
        "#!/bin/sh\ncase \"$*\" in\n"
        "--help) printf 'Commands:\\n  to_gpt2   Does it.\\n  a_name_that_takes_the_line\\n'\n"
        "printf '                        Does it.\\n\\n' ;;\n"
        "*--help) printf 'Options:\\n  --other INT    a number\\n  --must INT    a long text\\n'\n"
        "printf '                        that goes on [required]\\n\\n' ;;\n"
        "*--other=abc) exit 3 ;;\nesac\n";
    Arena *a = begin();
    const char *said, *path = path_join(a, getenv("REPOSITORY"), "build/modalities");
    assert_int_equal(in_repository(a,
                                   "mkdir -p build tests/end_to_end && touch "
                                   "tests/end_to_end/train.yaml",
                                   &said),
                     0);
    assert_no_error(file_write(path, program, strlen(program)));
    int status = in_repository(a, "chmod 755 build/modalities; tools/bad_paths.sh 2>&1", &said);
    assert_int_equal(status, 1);
    assert_contains(said, "status 3: modalities to_gpt2 --must=4 --other=abc");
    assert_contains(said, "status 3: modalities a_name_that_takes_the_line --must=4 --other=abc");
    assert_contains(said, "4 options and arguments, 2 failures");
    arena_free(a);
}

/* A machine without libraries and without Debian's tools: a folder of a few programs is its PATH.
 */
TEST(what_is_missing_is_named_for_other_systems_and_make_says_where_to_look)
{
    Arena *a = begin();
    const char *said;
    assert_int_equal(
        in_repository(
            a,
            "mkdir bare && for p in sh make cat id sort tr mkdir touch rm find uname grep "
            "nproc install ln date sed; do ln -s $(command -v $p) bare/ || exit 1; done; "
            "printf '#!/bin/sh\\nexit 1\\n' > bare/cc && chmod +x bare/cc",
            &said),
        0);
    assert_int_not_equal(in_repository(a, "PATH=$PWD/bare make CC=cc build/src/base/one.o", &said),
                         0);
    assert_contains(said, "The compiler cc or libraries are missing: make dependencies");
    assert_null(strstr(said, "one.c"));
    assert_int_equal(in_repository(a, "PATH=$PWD/bare CC=cc tools/dependencies.sh build", &said),
                     1);
    assert_contains(said, "dnf install gcc glibc-devel jansson-devel jq-devel libcmocka-devel "
                          "libyaml-devel libzstd-devel make pcre2-devel sqlite-devel "
                          "utf8proc-devel zlib-devel");
    assert_contains(said, "zypper install gcc glibc-devel libcmocka-devel libjansson-devel");
    assert_contains(said, "conda install -c conda-forge c-compiler cmocka jansson jq libutf8proc "
                          "make pcre2 sqlite yaml zlib zstd");
    arena_free(a);
}
