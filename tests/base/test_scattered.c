/* test_scattered.c - a file of which little is read. */
#include "base/file.h"
#include "test.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 2048, TOUCHED = 1000 };

/* Pages of the file that are in memory, after one of them was read. */
static int64_t resident(const FileMap *m)
{
    unsigned char here[PAGES];
    int64_t n = 0;
    assert_int_equal(m->ptr[TOUCHED * PAGE], 1);
    assert_int_equal(mincore((void *)m->ptr, m->len, here), 0);
    for (int i = 0; i < PAGES; i++) n += here[i] & 1;
    return n;
}

static void drop(const char *path)
{
    const int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(fsync(fd), 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    close(fd);
}

/* Checkpoints are looked at so: headers of a few bytes between tensors of megabytes. */
TEST(a_file_that_is_mapped_scattered_is_read_where_it_is_touched)
{
    Arena *a = arena_new();
    const char *path = path_join(a, test_folder(), "file");
    char *bytes = arena_alloc(a, (size_t)PAGES * PAGE);
    memset(bytes, 1, (size_t)PAGES * PAGE);
    assert_no_error(file_write(path, bytes, (size_t)PAGES * PAGE));
    FileMap m;
    drop(path);
    assert_no_error(file_map_scattered(path, &m));
    const int64_t few = resident(&m);
    file_unmap(&m);
    if (few == PAGES)
        test_note("this file system keeps its files in memory");
    else
        assert_in_range(few, 1, 16);
    arena_free(a);
}
