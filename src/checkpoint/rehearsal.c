/* rehearsal.c - whether a checkpoint of this state can be saved, tried before hours are spent. */
#include "checkpoint/rehearsal.h"
#include "base/file.h"
#include "checkpoint/folder_write.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Saving, replacing and deleting add a suffix to a name (new_folder.c); the files of FSDP1 have a
 * longer name, and one more while they are written (base/temporary_file.h). */
static long longest_suffix(const CheckpointExecution *x)
{
    return checkpoint_layout(x) == LAYOUT_FSDP1 ? (long)strlen("-optimizer.bin.tmp.000000000000")
                                                : (long)strlen(".deleting");
}

static Error *check_name(const CheckpointExecution *x, const char *name)
{
    long most = pathconf(x->checkpoint_path, _PC_NAME_MAX);
    long n = (long)strlen(name) + longest_suffix(x);
    if (most <= 0 || n <= most) return NULL;
    return error_new("names of checkpoints would have %ld characters (%s and a suffix), the file "
                     "system allows %ld: the experiment_id must be shorter by %ld",
                     n, name, most, n - most);
}

static Error *too_large(int64_t bytes, const char *what, uint64_t most, const char *where)
{
    char size[32], limit[32];
    format_bytes((double)bytes, size);
    format_bytes((double)most, limit);
    return error_new("a checkpoint needs %s, but %s %s%s", size, what, limit, where);
}

/* Where files cannot be given space in advance, what is free must do. */
static Error *reserve(void *size, const char *path, int64_t bytes)
{
    struct rlimit limit;
    RehearsedSize *s = size;
    const uint64_t free_bytes = (uint64_t)s->free_bytes;
    s->bytes = bytes;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        (uint64_t)bytes > limit.rlim_cur)
        return too_large(bytes, "files may have no more than", limit.rlim_cur, " (ulimit -f)");
    if ((uint64_t)bytes > free_bytes) return too_large(bytes, "only", free_bytes, " are free");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return error_new("cannot create %s: %s", path, strerror(errno));
    int why = 0;
    while (bytes && fallocate(fd, 0, 0, bytes) != 0 && (why = errno) == EINTR) {
    }
    close(fd);
    if (why != ENOSPC && why != EDQUOT && why != EFBIG) return NULL;
    errno = why;
    return too_large(bytes, strerror(why), free_bytes, " are free");
}

/* On rank 0: what can be said before the ranks come together. */
static Error *look(Arena *a, const CheckpointSaving *s, const CheckpointTotals *last,
                   RehearsedSize *out)
{
    const CheckpointExecution *x = &s->execution;
    struct statvfs disk;
    if (x->global_rank) return NULL;
    TRY(checkpoint_saving_prepare(s));
    TRY(check_name(x, checkpoint_name(a, x->experiment_id, last)));
    if (statvfs(x->checkpoint_path, &disk) != 0)
        return error_new("cannot write to %s: %s", x->checkpoint_path, strerror(errno));
    out->free_bytes = (int64_t)(disk.f_bavail * disk.f_frsize);
    return NULL;
}

static Error *rehearse(Arena *a, const CheckpointSaving *s, const CheckpointTotals *first,
                       const CheckpointTotals *last, const CheckpointContent *content,
                       RehearsedSize *out)
{
    const CheckpointExecution *x = &s->execution;
    const char *folder = path_join(a, path_absolute(a, x->checkpoint_path),
                                   checkpoint_name(a, x->experiment_id, first));
    TRY(ranks_agree(content->shares ? content->shares->comm : NULL, look(a, s, last, out)));
    CheckpointContent all = *content;
    all.layout = checkpoint_layout(x);
    all.file = s->beside;
    all.n_files = s->n_beside;
    return folder_rehearse(folder, &all, reserve, out);
}

Error *checkpoint_rehearse(const CheckpointSaving *s, const CheckpointTotals *first,
                           const CheckpointTotals *last, const CheckpointContent *content,
                           RehearsedSize *out)
{
    *out = (RehearsedSize){ 0 };
    if (s->strategy.keep == 0 || (s->execution.global_rank && !content->shares)) return NULL;
    Arena *a = arena_new();
    Error *e = rehearse(a, s, first, last, content, out);
    arena_free(a);
    return error_wrap(e, "no checkpoint could be saved in %s", s->execution.checkpoint_path);
}
