/* test_new_folder.c - a folder is there complete or not at all, and dead work is swept away. */
#include "base/log.h"
#include "checkpoint/new_folder.h"
#include "test.h"
#include <dirent.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void put_file(Arena *a, const char *folder, const char *content)
{
    assert_no_error(make_directories(folder));
    assert_no_error(file_write(path_join(a, folder, "f"), content, 1));
}

static char content_of(Arena *a, const char *folder)
{
    Str s;
    assert_no_error(file_read(a, path_join(a, folder, "f"), &s));
    return s.ptr[0];
}

/* Entries of the test's folder. */
static int n_left(void)
{
    DIR *d = opendir(test_folder());
    int n = -2;
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

TEST(new_folder_appears_at_commit)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "deep/down/eid_x");
    NewFolder f;
    assert_no_error(folder_create(a, path, &f));
    put_file(a, f.temporary, "1");
    assert_false(file_exists(path));
    assert_no_error(folder_commit(&f));
    assert_int_equal(content_of(a, path), '1');
    assert_no_error(folder_create(a, path, &f));
    put_file(a, f.temporary, "2");
    assert_int_equal(content_of(a, path), '1');
    assert_no_error(folder_commit(&f));
    assert_int_equal(content_of(a, path), '2');
    assert_no_error(folder_create(a, path, &f));
    put_file(a, f.temporary, "3");
    folder_abandon(&f);
    assert_int_equal(content_of(a, path), '2');
    assert_no_error(folder_retire(a, path));
    assert_false(file_exists(path));
    assert_int_equal(rmdir(path_folder(a, path)), 0); /* nothing else was left */
    arena_free(a);
}

TEST(new_folder_of_a_living_writer_is_respected)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "eid_x");
    NewFolder mine, other;
    assert_no_error(folder_create(a, path, &mine));
    put_file(a, mine.temporary, "1");
    pid_t child = fork();
    if (child ==
        0) { /* locks belong to the open file, so a child that opens it anew is another writer */
        Error *e = folder_create(a, path, &other);
        folder_sweep(a, test_folder(), "eid_");
        _exit(e ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_no_error(folder_commit(&mine));
    assert_int_equal(content_of(a, path), '1');
    arena_free(a);
}

TEST(new_folder_of_a_dead_writer_is_taken_over)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "eid_x");
    NewFolder f;
    if (fork() == 0) {
        error_free(folder_create(a, path, &f));
        put_file(a, f.temporary, "1");
        put_file(a, path_join(a, f.temporary, "sub"), "1");
        kill(getpid(), SIGKILL);
    }
    wait(NULL);
    assert_int_equal(n_left(), 1);
    assert_no_error(folder_create(a, path, &f));
    assert_int_equal(rmdir(f.temporary), 0); /* empty */
    folder_abandon(&f);
    arena_free(a);
}

TEST(new_folder_sweep_finishes_what_the_dead_began)
{
    Arena *a = arena_new();
    const char *root = test_folder();
    log_set_level(LOG_SILENT);
    put_file(a, path_join(a, root, "eid_1.saving"), "1");
    put_file(a, path_join(a, root, "eid_2.deleting"), "1");
    put_file(a, path_join(a, root, "eid_3.replaced"), "1"); /* its name is free: moved back */
    put_file(a, path_join(a, root, "eid_4.replaced"), "1"); /* the new one is in place */
    put_file(a, path_join(a, root, "eid_4"), "2");
    put_file(a, path_join(a, root, "mine.saving"), "1");
    put_file(a, path_join(a, root, "eid_5"), "5");
    assert_string_equal(folder_resolve(a, path_join(a, root, "eid_3")),
                        path_join(a, root, "eid_3.replaced"));
    assert_string_equal(folder_resolve(a, path_join(a, root, "eid_4")),
                        path_join(a, root, "eid_4"));
    folder_sweep(a, root, "eid_");
    assert_int_equal(n_left(), 4);
    assert_int_equal(content_of(a, path_join(a, root, "eid_3")), '1');
    assert_int_equal(content_of(a, path_join(a, root, "eid_4")), '2');
    assert_int_equal(content_of(a, path_join(a, root, "eid_5")), '5');
    assert_int_equal(content_of(a, path_join(a, root, "mine.saving")), '1');
    arena_free(a);
}

TEST(new_folder_says_why_it_cannot_be)
{
    Arena *a = arena_new();
    const char *root = test_folder();
    put_file(a, path_join(a, root, "x"), "1");
    NewFolder f;
    assert_error_has(folder_create(a, path_join(a, root, "x/f/y"), &f), "a file is in the way");
    if (geteuid() != 0) {
        assert_int_equal(chmod(path_join(a, root, "x"), 0555), 0);
        assert_error_has(folder_create(a, path_join(a, root, "x/y"), &f),
                         "x/y.saving: Permission denied");
        assert_int_equal(chmod(path_join(a, root, "x"), 0755), 0);
    }
    assert_error_has(folder_create(a, "/proc/none/y", &f), "cannot create folder /proc/none");
    arena_free(a);
}
