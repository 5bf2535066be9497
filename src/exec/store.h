/* store.h - what outlives a program: parameters, optimizer states, gradients, and what PREPARE
 * derives from them (bf16 copies, tables). Training, evaluation and generation programs share one
 * store. */
#ifndef EXEC_STORE_H
#define EXEC_STORE_H
#include "base/map.h"
#include "device/device.h"
#include "graph/graph.h"

typedef struct Stored {
    const char *name; /* of a derived value: how it was made */
    ValueKind kind;   /* VALUE_RESULT: derived */
    Init init;
    Tensor tensor;
    struct Stored *low; /* VALUE_PARAM: its low half, where `tensor` is the high one; NULL:
                                 `tensor` is all of it */
    bool is_low;        /* VALUE_STATE: it is one, and no part of checkpoints */
    bool is_cache;      /* VALUE_STATE: no part of checkpoints */
    bool is_frozen;     /* VALUE_PARAM: no optimizer changes it */
    bool is_set;        /* has been initialised or loaded */
    int64_t made_at;    /* derived: version of the parameters it was made from; 0: not made */
    bool is_constant;   /* derived from no parameter: made once */
} Stored;

typedef Error *StoreFinish(void *program);
/* Parameters and states are about to change. */
typedef Error *StoreGuard(void *context);

typedef struct ParamStore {
    Arena *arena;
    Device *device;
    Stream *stream;  /* for copies; NULL: not needed yet */
    Map *by_name;    /* Stored, in order of adding */
    int64_t version; /* rises whenever parameters change */
    Map *left_out;   /* as in Graph, of any of the programs */
    Map *elsewhere;  /* Tensor without memory: parameters that other ranks of the pipeline have */
    size_t bytes;
    struct Workspace *workspace; /* for activations: programs run one at a time and overlay it */
    StoreFinish *finish; /* waits for work on derived values that is under way; NULL: none is */
    void *left_by;       /* its program */
    StoreGuard *guard;   /* reads parameters and states beside the program; NULL: nobody does */
    void *guard_context;
} ParamStore;

/* The caller frees it with store_free; the device must live longer. */
ParamStore *store_new(Device *d);
void store_free(ParamStore *s);
/* Adds all parameters, states, gradients and derived values of the graph that are not there yet,
 * still without memory. A leaf with another shape or dtype than before is an error. */
Error *store_add(ParamStore *s, const Graph *g);
/* Bytes of what has no memory yet; and gives it zeroed memory, in one piece. */
size_t store_missing(const ParamStore *s);
Error *store_allocate(ParamStore *s);
/* Makes the workspace at least this large. Growing moves it and loses its content, so it happens
 * between runs only; programs notice by the address. */
Error *store_reserve(ParamStore *s, size_t bytes);
/* The present workspace; NULL before the first reservation. */
char *store_workspace(const ParamStore *s, size_t *bytes);
/* Whether a value lives in the store, rather than in a program's workspace. */
bool store_holds(const Value *v);
/* What this rank has of a value of a graph: dtype, sizes and Parts (of the arena), without memory.
 */
Tensor value_tensor(Arena *a, const Graph *g, const Value *v);
Stored *store_find(const ParamStore *s, const char *name);
int64_t store_count(const ParamStore *s);
Stored *store_at(const ParamStore *s, int64_t i);
/* As what it counts where memory is told: both halves of a parameter are one. */
ValueKind stored_accounted(const Stored *x);
/* Bytes of parameters in two halves, and what they are called there. */
#define STORED_IN_HALVES "as bf16 and the 16 bits that it lacks of f32"
size_t store_halves(const ParamStore *s);
/* The name under which a derived value is kept. */
const char *store_derived_name(Arena *a, const Value *v);
/* A program leaves work on derived values under way; `finish` NULL: no longer. Whoever touches the
 * store waits for it first, but for the program itself (`except`; NULL: nobody is), and so perhaps
 * for other ranks. */
void store_leave(ParamStore *s, StoreFinish *finish, void *program);
Error *store_settle(ParamStore *s, const void *except);
/* Who reads parameters and states beside the program; called before any of them changes. NULL: no
 * longer. */
void store_guard(ParamStore *s, StoreGuard *guard, void *context);
/* Whoever writes a parameter or state that checkpoints keep says so first: programs before UPDATE,
 * store_initialize, and those that write by views. */
Error *store_before_change(const ParamStore *s);
/* Fills what is not set by its rule; the same seed gives the same numbers on any number of ranks.
 */
Error *store_initialize(ParamStore *s, uint64_t seed);
/* Parameters were changed from outside: derived values are made anew. */
void store_changed(ParamStore *s);
/* The stream of such copies. */
Error *store_stream(ParamStore *s, Stream **out);
/* A tensor of the store in host memory: itself where the device's memory is the host's, else memory
 * of the arena, with its content if `read`. Nothing may be running. store_before_change comes
 * before writing to it. */
Error *store_view(ParamStore *s, const Tensor *t, bool read, Arena *a, Tensor *out);
/* Writes the content of such a view back. */
Error *store_put(ParamStore *s, const Tensor *t, const Tensor *view);
/* What the numbers of a parameter or state are: its tensor, but f32 of one in two halves, which lie
 * one after the other in its memory. */
Tensor stored_numbers(const Stored *x);
/* As store_view and store_put, but of one in two halves the numbers that these make together:
 * memory of the arena if they are read, and put only once, since that takes them apart again. */
Error *store_numbers(ParamStore *s, const Stored *x, bool read, Arena *a, Tensor *out);
Error *store_put_numbers(ParamStore *s, const Stored *x, const Tensor *numbers);
/* Copies the first `bytes` of `from` to byte `at` of `to`, both in the device's memory. Nothing may
 * be running. */
Error *store_copy(ParamStore *s, const Tensor *to, size_t at, const Tensor *from, size_t bytes);
Error *store_clear_gradients(ParamStore *s);
#endif
