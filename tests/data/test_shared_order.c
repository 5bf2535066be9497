/* test_shared_order.c - processes make one order together, whatever happens to some of them. */
#include "base/rng.h"
#include "data/order.h"
#include "data/shared_order.h"
#include "test.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 5000, SEED = 3 };

/* In memory that children share: how often any process began to make an order, and whether the
 * children that have one should let it go. */
static volatile struct {
    int n_made;
    bool is_over;
} * common;

static void share_counts(void)
{
    common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(common != MAP_FAILED);
}

static void make(uint64_t seed, int64_t n, int64_t entry_bytes, void *out)
{
    __atomic_fetch_add(&common->n_made, 1, __ATOMIC_SEQ_CST);
    assert_int_equal(entry_bytes, 4);
    torch_randperm32(seed, n, out);
}

static void make_slowly(uint64_t seed, int64_t n, int64_t entry_bytes, void *out)
{
    make(seed, n, entry_bytes, out);
    usleep(100000);
}

static void die_in_the_middle(uint64_t seed, int64_t n, int64_t entry_bytes, void *out)
{
    make(seed, n, entry_bytes, out);
    usleep(100000);
    raise(SIGKILL);
}

static SharedOrder order_of(uint64_t seed)
{
    return (SharedOrder){ test_folder(), N, 4, seed, make };
}

static void open_and_compare(Arena *a, const SharedOrder *o)
{
    const void *entry;
    uint32_t expected[N];
    torch_randperm32(o->seed, N, expected);
    assert_no_error(shared_order_open(a, o, &entry));
    assert_memory_equal(entry, expected, sizeof expected);
}

static int n_files(void)
{
    DIR *d = opendir(test_folder());
    assert_non_null(d);
    int n = -2; /* "." and ".." */
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

/* A process that opens the order and is killed with it, or holds it until all is over. */
static pid_t fork_user(const SharedOrder *o, bool is_killed)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child) return child;
    Arena *a = arena_new();
    open_and_compare(a, o);
    if (is_killed) raise(SIGKILL);
    while (!common->is_over) usleep(1000);
    arena_free(a);
    _exit(0);
}

static void assert_ends(pid_t child, int signal)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, signal);
    if (!signal) assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(processes_that_start_together_make_one_order)
{
    enum { N_CHILDREN = 6 };
    share_counts();
    Arena *a = arena_new();
    SharedOrder o = order_of(SEED);
    o.make = make_slowly;
    pid_t child[N_CHILDREN];
    for (int i = 0; i < N_CHILDREN; i++) child[i] = fork_user(&o, false);
    open_and_compare(a, &o);
    common->is_over = true;
    for (int i = 0; i < N_CHILDREN; i++) assert_ends(child[i], 0);
    assert_int_equal(n_files(), 1);
    assert_int_equal(common->n_made, 1);
    open_and_compare(a, &o);
    assert_int_equal(common->n_made, 1);
    arena_free(a);
    assert_int_equal(n_files(), 0);
}

TEST(an_order_whose_maker_is_killed_is_made_by_one_that_waits)
{
    share_counts();
    Arena *a = arena_new();
    SharedOrder o = order_of(SEED), dying = o;
    dying.make = die_in_the_middle;
    pid_t killed = fork_user(&dying, false);
    while (!common->n_made) usleep(1000);
    pid_t waiting[] = { fork_user(&o, false), fork_user(&o, false) };
    open_and_compare(a, &o);
    common->is_over = true;
    assert_ends(killed, SIGKILL);
    for (int i = 0; i < 2; i++) assert_ends(waiting[i], 0);
    assert_int_equal(common->n_made, 2);
    arena_free(a);
    assert_int_equal(n_files(), 0);
}

TEST(what_killed_processes_leave_is_used_again_or_removed)
{
    share_counts();
    Arena *a = arena_new(), *b = arena_new();
    SharedOrder o = order_of(SEED), other = order_of(SEED + 1), dying = order_of(SEED + 2);
    dying.make = die_in_the_middle;
    assert_ends(fork_user(&o, true), SIGKILL);
    assert_int_equal(n_files(), 1);
    open_and_compare(a, &o);
    assert_int_equal(common->n_made, 1); /* by the killed one */
    arena_free(a);
    assert_int_equal(n_files(), 0);

    a = arena_new();
    assert_ends(fork_user(&o, true), SIGKILL);
    assert_ends(fork_user(&dying, false),
                SIGKILL); /* removes the first, leaves its half-made one */
    assert_int_equal(n_files(), 1);
    assert_ends(fork_user(&o, true), SIGKILL); /* and so on */
    open_and_compare(b, &other);
    assert_int_equal(n_files(), 1);
    open_and_compare(a, &o); /* does not touch what is in use */
    assert_int_equal(n_files(), 2);
    arena_free(b);
    arena_free(a);
    assert_int_equal(n_files(), 0);
}

/* The only file there is. */
static const char *the_file(Arena *a)
{
    PathList files = { 0 };
    assert_no_error(files_below(a, test_folder(), "", &files));
    assert_int_equal(files.n, 1);
    return files.item[0];
}

TEST(a_file_that_is_not_what_its_name_says_is_made_again)
{
    share_counts();
    Arena *a = arena_new();
    SharedOrder o = order_of(SEED);
    for (int damage = 0; damage < 3; damage++) {
        assert_ends(fork_user(&o, true), SIGKILL);
        const char *path = the_file(a);
        int fd = open(path, O_RDWR);
        assert_true(fd >= 0);
        if (damage == 0) assert_int_equal(ftruncate(fd, 0), 0);
        if (damage == 1) assert_int_equal(ftruncate(fd, 64 + 4 * N - 1), 0);
        if (damage == 2) assert_int_equal(pwrite(fd, "\1", 1, 8), 1);
        close(fd);
        common->n_made = 0;
        Arena *user = arena_new();
        open_and_compare(user, &o);
        assert_int_equal(common->n_made, 1);
        arena_free(user);
        assert_int_equal(n_files(), 0);
    }
    arena_free(a);
}

TEST(an_order_that_cannot_be_shared_says_why_and_leaves_nothing)
{
    share_counts();
    Arena *a = arena_new();
    const void *entry;
    SharedOrder o = order_of(SEED);
    o.folder = path_join(a, test_folder(), "missing");
    assert_error_has(shared_order_open(a, &o, &entry), "missing");
    o.folder = test_folder();
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, small = { 1000, RLIM_INFINITY };
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    Error *e = shared_order_open(a, &o, &entry);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_error_has(e, "cannot reserve memory in ");
    assert_int_equal(common->n_made, 0);
    arena_free(a);
    assert_int_equal(n_files(), 0);
}

/* Orders of this size are shared, where the machine lets them. */
TEST(a_shared_order_is_the_order_of_one_process)
{
    enum { LONG = 1 << 20 };
    Arena *a = arena_new();
    Order *own = order_new(a, LONG, ORDER_TORCH, (uint64_t)getpid(), false);
    Order *shared[] = { order_new(a, LONG, ORDER_TORCH, (uint64_t)getpid(), true),
                        order_new(a, LONG, ORDER_TORCH, (uint64_t)getpid(), true) };
    for (int64_t i = 0; i < LONG; i += 1 + i % 7) {
        int64_t expected = order_at(own, i);
        assert_int_equal(order_at(shared[0], i), expected);
        assert_int_equal(order_at(shared[1], i), expected);
    }
    arena_free(a);
}
