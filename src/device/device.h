/* device.h - what a kernel is given and what a device can do. Also compiles as C++. */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H
#include "base/cpu.h"
#include "tensor/tensor.h"

struct Comm;
struct Launch;
struct DimSpec;
struct Error;
struct KernelDef;
struct Pool;

/* What an optimizer step does with one group of parameters. */
typedef struct Rate {
    double lr;
    double beta1;   /* decay of Adam's first moment, if has_beta1 */
    bool has_beta1; /* else the optimizer's own */
} Rate;

enum { MAX_RATES = 16, MAX_TEXTS = 16 };

/* Known only while running, the same for all kernels of one action; never baked into a Launch. */
typedef struct RunTime {
    int64_t step;       /* optimizer steps done before this one; part of dropout keys */
    int64_t updates;    /* those of them that changed the parameters: Adam's bias correction */
    int64_t microbatch; /* of this step; part of dropout keys */
    /* Ranks that have samples of their own take turns at those of a step; 0: there is one. */
    int64_t n_replicas, replica;
    int64_t position; /* of the first token of the inputs; above 0 only with a KV cache */
    int64_t n_texts;  /* rows of the batch with a position of their own; 0: all have the same */
    int64_t text_position[MAX_TEXTS];
    bool text_waits[MAX_TEXTS]; /* the row's token is none of its text, whose states stay */
    double loss_scale;     /* gradient of the loss: 1 / microbatches, or 1 / tokens of the step */
    double gradient_scale; /* what loss_scale and so all gradients were multiplied by, for the range
                              of F16 (train/loss_scaling.h); 0: by 1 */
    uint64_t seed;
    bool is_gated;    /* an update whose numbers are not finite is left out by the device */
    bool is_ahead;    /* given before the host has heard of the step before: where that one's update
                         was left out, this one's is, too */
    bool is_left_out; /* written by Device.gate alone: kernels of UPDATE clear gradients, and change
                         neither parameters nor states */
    Rate rate[MAX_RATES]; /* of this step, by number of the group (optim/param_groups.h) */
} RunTime;

/* Where the first token of row b of the batch stands. */
static inline int64_t row_position(const RunTime *t, int64_t b)
{
    return b < t->n_texts ? t->text_position[b] : t->position;
}

/* Whether what row b of the batch brings must leave no trace in what is kept of its text. */
static inline bool row_waits(const RunTime *t, int64_t b)
{
    return b < t->n_texts && t->text_waits[b];
}

/* What transfers do with memory that the host cannot touch, in the order of the launch's stream.
 * All return statuses. */
typedef struct Moves {
    /* Rows of `bytes` bytes that lie `to_step` and `from_step` bytes apart. */
    int (*copy)(const struct Launch *l, void *to, size_t to_step, const void *from,
                size_t from_step, size_t bytes, int64_t n_rows);
    int (*clear)(const struct Launch *l, void *to, size_t bytes);
    /* to[i] += from[i], or with `adds` false to[i] = from[i]. */
    int (*convert)(const struct Launch *l, void *to, Dtype to_type, const void *from,
                   Dtype from_type, int64_t n, bool adds);
    /* Between the host and the device; done on return, as all that was given before. */
    int (*exchange)(const struct Launch *l, void *to, const void *from, size_t bytes);
} Moves;

/* A queue of work, done in the order given. On the CPU calls return when the work is done, but
 * those of a stream beside the caller's. */
typedef struct Stream {
    struct Pool *pool;         /* CPU: the threads that kernels may use */
    void *handle;              /* the device's own */
    const Moves *moves;        /* NULL: kernels touch the memory themselves */
    const struct RunTime *now; /* that of the work that is given now, as the host has it */
    /* Set by the device when a kernel fails while its stream runs; what comes after it is not done
     * until whoever looks at it sets it back to NULL. */
    const struct Launch *failed;
    int status; /* that of the failed kernel */
    /* When it failed, where the device knows. */
    bool knows_when;
    int64_t step_failed, microbatch_failed;
    /* Of a device that hangs: the last launch that began (NULL: not known), and its microbatch. */
    const struct Launch *reached;
    int64_t microbatch_reached;
} Stream;

/* A place in a stream's order of work. Zeroed at first. */
typedef struct StreamMark {
    void *handle;
    int64_t number;
} StreamMark;

/* One call of a kernel; fixed when the plan is made. */
typedef struct Launch {
    const struct OpDef *op;
    const void *attrs;
    const struct DimSpec *dims; /* tells which dimension is which; sizes are those of the tensors */
    const Tensor *in;
    Tensor *out;
    int n_in, n_out;
    const bool *add; /* by result: add to what is there (ops with OP_ADDS only); NULL: to none */
    void *scratch;
    const RunTime *now; /* in memory of the device */
    Stream *stream;
    struct Comm *comm;  /* OP_COMM: the ranks it talks to; NULL: none but this one */
    int block;          /* of the model, for messages; -1: none */
    const char *origin; /* with `comm`: what it is for, in words that stay as long as the group */
} Launch;

/* What a kernel's host code may read of the run. */
static inline const RunTime *launch_now(const Launch *l)
{
    return l->stream && l->stream->moves ? l->stream->now : l->now;
}

/* Whether the kernel adds to result k what it would write. */
static inline bool launch_adds(const Launch *l, int k)
{
    return l->add && l->add[k];
}

/* Statuses of their own: an id, target or position lies outside of its table; the group of the
 * launch failed, and comm_error tells how; more came than there is room for. From KERNEL_OF_DEVICE
 * on Device.describe knows more. */
enum { KERNEL_OK, KERNEL_BAD_INDEX, KERNEL_COMM, KERNEL_OVERFLOW, KERNEL_OF_DEVICE = 100 };

/* KERNEL_OK (0), or a status that exec reports with op, layer and microbatch. Never prints or
 * exits. */
typedef int Kernel(const Launch *l);

typedef struct Device {
    const char *name;    /* "cpu", "cuda" ... */
    const char *kernels; /* whose kernels it runs: rows of this device, and for "cpu" references */
    /* Those rows, in tables that end with NULL; NULL: the program's own. */
    const struct KernelDef *const *tables;
    bool is_host;       /* its memory may be read and written directly */
    bool has_epilogues; /* its products can end with a bias or gelu_tanh (passes/epilogues.c) */
    bool reads_panels;  /* its products are faster with weights in panels (passes/panels.c) */
    /* 64-byte aligned, zeroed and touched memory. */
    struct Error *(*alloc)(struct Device *d, size_t bytes, void **out);
    void (*release)(struct Device *d, void *p, size_t bytes);
    /* Both in the stream's order. Either side of a copy may be host memory, which must stay as it
     * is until the stream is synchronized. */
    struct Error *(*copy)(struct Device *d, void *to, const void *from, size_t bytes, Stream *s);
    struct Error *(*clear)(struct Device *d, void *to, size_t bytes, Stream *s);
    /* Runs a kernel in the order of l->stream; `l` must stay until the stream is synchronized. A
     * status other than KERNEL_OK comes back at once or at the synchronization. */
    int (*launch)(struct Device *d, Kernel *kernel, const Launch *l);
    /* `beside`: for work that goes on beside that of the first stream, transfers above all. */
    struct Error *(*stream_new)(struct Device *d, bool beside, Stream **out);
    void (*stream_free)(struct Device *d, Stream *s);
    /* The mark is the end of all that the stream was given so far; what `later` is given from now
     * on waits for it. */
    struct Error *(*mark)(struct Device *d, Stream *s, StreamMark *m);
    struct Error *(*wait)(struct Device *d, Stream *later, const StreamMark *m);
    void (*mark_free)(struct Device *d, StreamMark *m);
    /* A place of which the time is kept, and the seconds from one of them to another when both are
     * reached. NULL: kernels run where the host can look at its clock. */
    struct Error *(*stamp)(struct Device *d, Stream *s, StreamMark *m);
    struct Error *(*elapsed)(struct Device *d, const StreamMark *from, const StreamMark *to,
                             double *out);
    /* Waits until all work given is done. */
    struct Error *(*synchronize)(struct Device *d, Stream *s);
    /* Waits until the mark's place is reached, whatever the stream was given after it. NULL where
     * `gate` is. */
    struct Error *(*reach)(struct Device *d, Stream *s, const StreamMark *m);
    /* In the stream's order: `now`, in its memory, is left out if a number is not finite, a kernel
     * of the stream has failed, or it is ahead and `verdict`, a bool, says that the one before was.
     * Then `verdict` tells of this one. Numbers of each list, f32 or f64, lie 8 bytes apart. NULL:
     * only the host can look at them. */
    struct Error *(*gate)(struct Device *d, RunTime *now, void *verdict, const Tensor *list, int n,
                          Stream *s);
    /* Memory of the host that copies go to and from while the host goes on. NULL: plain memory. */
    struct Error *(*host_alloc)(struct Device *d, size_t bytes, void **out);
    void (*host_release)(struct Device *d, void *p);
    /* What a stream is given from now on is not done, but kept, to be done by each `replay`. Memory
     * of copies must be host_alloc's. NULL: it cannot. */
    struct Error *(*record)(struct Device *d, Stream *s);
    struct Error *(*record_end)(struct Device *d, Stream *s, void **out);
    struct Error *(*replay)(struct Device *d, void *recording, Stream *s);
    void (*recording_free)(struct Device *d, void *recording);
    size_t (*free_bytes)(const struct Device *d);
    /* Bytes that it takes itself, beside what was allocated: line `i` and its name, 0 after the
     * last one. NULL: none. */
    size_t (*own_bytes)(const struct Device *d, int i, const char **name);
    /* By datasheet, at most: FLOP/s of products of these, and bytes/s of memory; 0: not known.
     * NULL: those of a CPU, which are measured. */
    double (*peak_flops)(const struct Device *d, Dtype t);
    double (*peak_bytes)(const struct Device *d);
    /* The ranks of `host`, which must stay, as a group for memory of this device; all of them make
     * it. sends[r]: this rank sends messages to rank r. NULL: the host's will do. */
    struct Error *(*comm_new)(struct Device *d, struct Comm *host, const bool *sends,
                              struct Comm **out);
    /* What a status means that is the device's own, above those of kernels. NULL: there is none. */
    const char *(*describe)(const struct Device *d, int status);
    void (*free)(struct Device *d);
} Device;

/* Memory of the host for copies, 64-byte aligned; plain where the device needs no other. */
struct Error *device_host_alloc(Device *d, size_t bytes, void **out);
void device_host_release(Device *d, void *p);
/* Copies between host and device that are done on return; `s` may have other work, which comes
 * first. */
struct Error *device_copy_now(Device *d, void *to, const void *from, size_t bytes, Stream *s);

/* The CPUs of this machine; n_threads 0: all. The caller frees it by its own `free`. */
Device *cpu_device_new(int n_threads);
/* The same, but with memory that nobody else can touch and work that is done late (fenced.c): shows
 * without a GPU what would break on one. */
Device *fenced_device_new(int n_threads);
/* The device that MODALITIES_DEVICE names: cpu, which is the default, fenced, or a GPU as --device
 * names them. */
struct Error *device_new(int n_threads, Device **out);
/* Whether there is a device of that name: the error says why it cannot be used. */
struct Error *device_check(const char *name);
/* What each of n ranks is to compute on: `asked` unless that is NULL; else a rank that is alone
 * takes a GPU, if there is one that can be used and MODALITIES_DEVICE does not say otherwise. */
const char *device_choose(const char *asked, int64_t n_ranks);
/* The device of that name: "cpu", "cuda", "cuda:N"; NULL: as device_new. "cuda" is the visible GPU
 * of number `local_rank`. */
struct Error *device_open(const char *name, int local_rank, int n_threads, Device **out);
#endif
