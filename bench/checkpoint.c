/* checkpoint.c - saving and loading a checkpoint of GPT-2 124M with AdamW (1.5 GB), beside what the
 * disk does in the same run: one file written and fsynced, read past the page cache.
 *
 * BENCH_FOLDER names a folder of the disk (present folder), BENCH_LAYERS makes the model smaller.
 * Aims: saving at 80 % of the disk's rate, loading at 80 %; each of N ranks reads no more than its
 * share and 5 %. Also what a step waits for when checkpoints are written in the background, and the
 * CPU time of that. */
#include "base/clock.h"
#include "base/file.h"
#include "base/thread.h"
#include "checkpoint/folder_write.h"
#include "checkpoint/load_shared.h"
#include "checkpoint/shares.h"
#include "checkpoint/staging.h"
#include "comm/transports.h"
#include "measure.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 768, MAX_TENSORS = 600, BLOCK = 1 << 22, MOST_RANKS = 8 };

typedef struct State {
    StateTensor tensor[MAX_TENSORS];
    int64_t n;
    size_t bytes;
} State;

/* A parameter with its two moments. */
static void add(Arena *a, State *s, const char *name, int64_t rows, int64_t columns)
{
    static const char *const forms[] = { "app.model.%s", "app.optimizer.state.%s.exp_avg",
                                         "app.optimizer.state.%s.exp_avg_sq" };
    for (int k = 0; k < 3; k++) {
        Text full = { 0 };
        text_puts(&full, "");
        const char *at = strstr(forms[k], "%s");
        text_add(&full, forms[k], (size_t)(at - forms[k]));
        text_puts(&full, name);
        text_puts(&full, at + 2);
        StateTensor *t = &s->tensor[s->n++];
        *t = (StateTensor){ .name = arena_string(a, full.ptr),
                            .whole = { rows, columns },
                            .part = { .dtype = F32, .n_dims = 2, .size = { rows, columns } } };
        t->part.data = arena_alloc(a, tensor_bytes(&t->part));
        for (int64_t i = 0; i < rows * columns; i++)
            ((float *)t->part.data)[i] = (float)(i * 2654435761u % 1000003) * 1e-6f;
        s->bytes += tensor_bytes(&t->part);
        text_free(&full);
    }
}

static void make_state(Arena *a, State *s)
{
    const char *layers = getenv("BENCH_LAYERS");
    const int n = layers ? atoi(layers) : 12;
    add(a, s, "wte", 50304, WIDTH);
    add(a, s, "wpe", 1024, WIDTH);
    for (int i = 0; i < n; i++) {
        add(a, s, arena_printf(a, "h.%d.attn.qkv", i), 3 * WIDTH, WIDTH);
        add(a, s, arena_printf(a, "h.%d.attn.proj", i), WIDTH, WIDTH);
        add(a, s, arena_printf(a, "h.%d.mlp.fc", i), 4 * WIDTH, WIDTH);
        add(a, s, arena_printf(a, "h.%d.mlp.proj", i), WIDTH, 4 * WIDTH);
        add(a, s, arena_printf(a, "h.%d.norms", i), 4, WIDTH);
    }
}

/* ---- the disk ---- */

static void *aligned(size_t bytes)
{
    void *p;
    if (posix_memalign(&p, 4096, bytes) != 0) die(error_new("no memory"));
    memset(p, 1, bytes);
    return p;
}

/* dd conv=fsync */
static double write_seconds(const char *path, size_t bytes)
{
    char *block = aligned(BLOCK);
    const double start = clock_seconds();
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (size_t done = 0; done < bytes; done += BLOCK)
        if (write(fd, block, BLOCK) != BLOCK) die(error_new("%s: %s", path, strerror(errno)));
    if (fsync(fd) != 0) die(error_new("%s: %s", path, strerror(errno)));
    close(fd);
    free(block);
    return clock_seconds() - start;
}

/* dd iflag=direct; where the file system has none, past the cache as well as it can be asked. */
static double read_seconds(const char *path)
{
    char *block = aligned(BLOCK);
    int fd = open(path, O_RDONLY | O_DIRECT);
    if (fd < 0) fd = open(path, O_RDONLY);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    const double start = clock_seconds();
    while (read(fd, block, BLOCK) > 0) {
    }
    close(fd);
    free(block);
    return clock_seconds() - start;
}

static void forget(Arena *a, const char *folder)
{
    PathList files = { 0 };
    die(files_below(a, folder, "", &files));
    for (int64_t i = 0; i < files.n; i++) {
        const int fd = open(files.item[i], O_RDONLY);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
    }
}

static void report(const char *what, size_t bytes, double seconds, double limit)
{
    printf("%-28s %6.2f s, %7.1f MB/s, %5.1f %% of the disk (aim 80): %s\n", what, seconds,
           (double)bytes / seconds * 1e-6, 100 * limit / seconds,
           limit / seconds >= 0.8 ? "reached" : "missed");
}

/* ---- ranks ---- */

typedef struct RankLoad {
    Comm *comm;
    const char *path;
    const State *state;
    int64_t bytes_read;
} RankLoad;

/* Each has its rows of every tensor. */
static void *load_rank(void *arg)
{
    RankLoad *l = arg;
    Arena *a = arena_new();
    StateTensor *part = arena_copy(a, l->state->tensor, sizeof *part * (size_t)l->state->n);
    CheckpointReader *r;
    for (int64_t i = 0; i < l->state->n; i++) {
        Tensor *t = &part[i].part;
        Part *p = NEW(a, Part);
        *p = (Part){ .whole = t->size[0], .n_parts = l->comm->size, .index = l->comm->rank };
        t->part[0] = p;
        t->size[0] = (t->size[0] + l->comm->size - 1) / l->comm->size;
        t->data = arena_alloc(a, tensor_bytes(t));
    }
    die(checkpoint_open(a, l->path, &r));
    die(checkpoint_load_shared(r, part, l->state->n, l->comm));
    l->bytes_read = r->bytes_read;
    arena_free(a);
    return NULL;
}

static void load_on_ranks(const State *s, const char *path, int n)
{
    Comm *comm[MOST_RANKS];
    pthread_t thread[MOST_RANKS];
    RankLoad load[MOST_RANKS];
    int64_t most = 0;
    comm_threads_new(n, comm);
    const double start = clock_seconds();
    for (int r = 0; r < n; r++) {
        load[r] = (RankLoad){ .comm = comm[r], .path = path, .state = s };
        pthread_create(&thread[r], NULL, load_rank, &load[r]);
    }
    for (int r = 0; r < n; r++) {
        pthread_join(thread[r], NULL);
        if (load[r].bytes_read > most) most = load[r].bytes_read;
    }
    const double seconds = clock_seconds() - start, share = (double)s->bytes / n;
    for (int r = 0; r < n; r++) comm[r]->free(comm[r]);
    printf("loaded by %d rank%s           %6.2f s, at most %.1f %% of a share each (aim 105): %s\n",
           n, n == 1 ? " " : "s", seconds, 100 * (double)most / share,
           (double)most <= 1.05 * share ? "reached" : "missed");
}

static void measure(Arena *a, State *s, const char *folder, CheckpointLayout layout,
                    const char *name)
{
    const char *path = path_join(a, folder, name), *plain = path_join(a, folder, "plain");
    const CheckpointContent c = {
        .layout = layout, .state = s->tensor, .n = s->n, .progress = "{}"
    };
    const double limit = write_seconds(plain, s->bytes);
    double start = clock_seconds();
    die(checkpoint_write(path, &c));
    report(arena_printf(a, "%s saved", name), s->bytes, clock_seconds() - start, limit);
    const double read_limit = read_seconds(plain);
    CheckpointReader *r;
    forget(a, path);
    start = clock_seconds();
    die(checkpoint_open(a, path, &r));
    die(checkpoint_load_shared(r, s->tensor, s->n, NULL));
    report(arena_printf(a, "%s loaded", name), s->bytes, clock_seconds() - start, read_limit);
    for (int n = 1; n <= MOST_RANKS; n *= 2) load_on_ranks(s, path, n);
    die(remove_tree(path));
    die(remove_tree(plain));
}

/* Beside the steps: written from where it lies, by one thread; or from a copy, which a step waits
 * for that changes the state before. */
static void measure_beside(Arena *a, const State *s, const char *folder, bool is_late)
{
    Staging *staging = staging_new();
    Pool *pool = pool_new(0);
    FolderWriter *writer;
    const char *path = path_join(a, folder, "beside");
    const CheckpointContent content = {
        .layout = LAYOUT_DCP, .state = s->tensor, .n = s->n, .progress = "{}", .staging = staging
    };
    const double gb = (double)s->bytes * 1e-9;
    staging_reserve(staging, s->bytes + (8 << 20), is_late);
    die(folder_plan(a, path, &content, &writer));
    double start = clock_seconds(), cpu = process_seconds();
    if (is_late) {
        die(staging_copy(staging, pool));
        const double seconds = clock_seconds() - start, used = process_seconds() - cpu;
        printf("copied for the background     %6.3f s, %7.1f GB/s, %.3f s of CPU time per GB\n",
               seconds, gb / seconds, used / gb);
    }
    start = clock_seconds(), cpu = process_seconds();
    die(folder_write_planned(writer));
    printf("written from %s %6.2f s, %.3f s of CPU time per GB\n",
           is_late ? "the copy        " : "where it lies   ", clock_seconds() - start,
           (process_seconds() - cpu) / gb);
    pool_free(pool);
    staging_free(staging);
    die(remove_tree(path));
}

int main(void)
{
    Arena *a = arena_new();
    State *s = NEW(a, State);
    const char *in = getenv("BENCH_FOLDER");
    char *folder = arena_printf(a, "%s/checkpoint-bench-XXXXXX", in ? in : ".");
    if (!mkdtemp(folder)) die(error_new("cannot make %s: %s", folder, strerror(errno)));
    make_state(a, s);
    printf("%.0f MB in %lld tensors\n", (double)s->bytes * 1e-6, (long long)s->n);
    Watch w = watch_start();
    for (int is_late = 0; is_late < 2; is_late++) measure_beside(a, s, folder, is_late);
    measure(a, s, folder, LAYOUT_NATIVE, "native");
    measure(a, s, folder, LAYOUT_DCP, "dcp");
    watch_report(&w);
    die(remove_tree(folder));
    arena_free(a);
    return 0;
}
