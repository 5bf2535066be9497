/* halves_check.c - whether kernels are exact with numbers in two halves. */
#include "halves_check.h"
#include "base/rng.h"
#include "op_run.h"
#include "ops/adam.h"
#include "tensor/halves.h"
#include "test.h"
#include <math.h>
#include <string.h>

enum { N_STEP = 40011, GUARD = 64 };

float halves_number(int64_t i)
{
    static const uint32_t low[HALVES_LOW] = { 0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, 0x1234 };
    const uint32_t bits = (uint32_t)(i / HALVES_LOW) << 16 | low[i % HALVES_LOW];
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static Tensor tensor_of(Arena *a, Dtype t, int64_t n)
{
    Tensor made = { .dtype = t, .n_dims = n > 0, .size = { n } };
    made.data = arena_alloc(a, tensor_bytes(&made) + GUARD);
    return made;
}

/* Which kernels. */
typedef struct Kernels {
    Arena *arena;
    const KernelDef *const *tables;
    CpuLevel level;
    const KernelRunner *how;
} Kernels;

static void run(const Kernels *x, const char *op, Launch *l)
{
    const KernelDef *const *tables = x->tables;
    for (int t = 0; tables[t]; t++)
        for (const KernelDef *k = tables[t]; k->op; k++) {
            if (strcmp(k->op, op) || k->level != x->level || !kernel_fits_types(k, l)) continue;
            l->stream = x->how->stream;
            l->scratch = arena_alloc(x->arena, GUARD);
            assert_int_equal(x->how->run(x->how, k, l, 0), KERNEL_OK);
            return;
        }
    fail_msg("%s has no kernel of this level", op);
}

static void check_bits(const Kernels *k)
{
    Arena *a = k->arena;
    static const RunTime now;
    Tensor x = tensor_of(a, F32, HALVES_ALL), high = tensor_of(a, BF16, HALVES_ALL),
           joined = tensor_of(a, F32, HALVES_ALL), low = tensor_of(a, I16, HALVES_ALL);
    for (int64_t i = 0; i < HALVES_ALL; i++) {
        ((float *)x.data)[i] = halves_number(i);
        ((int16_t *)low.data)[i] = low_half_of(halves_number(i));
    }
    Launch split = { .in = &x, .out = &high, .n_in = 1, .n_out = 1, .now = &now };
    run(k, "high_half", &split);
    Tensor halves[] = { high, low };
    Launch join = { .in = halves, .out = &joined, .n_in = 2, .n_out = 1, .now = &now };
    run(k, "join_halves", &join);
    for (int64_t i = 0; i < HALVES_ALL; i++) {
        const float number = halves_number(i), back = ((float *)joined.data)[i];
        const uint16_t found = ((uint16_t *)high.data)[i];
        if (isnan(number)) {
            assert_true(isnan(bf16_to_float(found)));
            continue;
        }
        if (found != high_half_of(number) || memcmp(&back, &number, sizeof back))
            fail_msg("%a gives %a and back %a", number, bf16_to_float(found), back);
    }
}

/* A step of Adam; with `low` the parameter is in halves. The results in *param, *low; and in *m,
 * whose dtype is given. */
static void step(const Kernels *k, Tensor *param, Tensor *low, Tensor *m, bool decoupled)
{
    Arena *a = k->arena;
    const AdamSettings attrs = { 0.9, 0.95, 1e-8, 0.1, decoupled, 0 };
    const RunTime now = { .updates = 3, .rate = { { .lr = 0.01 } } };
    Tensor grad = tensor_of(a, F32, N_STEP), v = tensor_of(a, F32, N_STEP),
           factor = tensor_of(a, F64, 0);
    *m = tensor_of(a, m->dtype, N_STEP);
    *(double *)factor.data = 0.7;
    for (int64_t i = 0; i < N_STEP; i++) {
        ((float *)grad.data)[i] = (float)rng_normal(1, (uint64_t)i);
        dtype_set(m->dtype, m->data, i, rng_normal(2, (uint64_t)i));
        ((float *)v.data)[i] = (float)rng_uniform(3, (uint64_t)i);
    }
    Tensor in[6] = { *param, grad, *m, v, factor }, out[5] = { *param, *m, v, grad };
    Launch l = { .attrs = &attrs, .in = in, .out = out, .n_in = 5, .n_out = 4, .now = &now };
    if (low) {
        in[l.n_in++] = *low;
        out[l.n_out++] = *low;
    }
    run(k, "adam", &l);
}

static void check_adam(const Kernels *k, bool decoupled, Dtype moment)
{
    Arena *a = k->arena;
    Tensor whole = tensor_of(a, F32, N_STEP), high = tensor_of(a, BF16, N_STEP),
           low = tensor_of(a, I16, N_STEP), m = { .dtype = moment }, other_m = m;
    for (int64_t i = 0; i < N_STEP; i++) {
        const float x = (float)(0.02 * rng_normal(4, (uint64_t)i));
        ((float *)whole.data)[i] = x;
        ((uint16_t *)high.data)[i] = high_half_of(x);
        ((int16_t *)low.data)[i] = low_half_of(x);
    }
    step(k, &whole, NULL, &m, decoupled);
    step(k, &high, &low, &other_m, decoupled);
    assert_memory_equal(m.data, other_m.data, tensor_bytes(&m));
    for (int64_t i = 0; i < N_STEP; i++) {
        const float expected = ((float *)whole.data)[i],
                    found = float_of_halves(((uint16_t *)high.data)[i], ((int16_t *)low.data)[i]);
        if (memcmp(&found, &expected, sizeof found))
            fail_msg("element %d is %a in halves, and %a whole", (int)i, found, expected);
        assert_int_equal(((uint16_t *)high.data)[i], high_half_of(expected));
    }
}

void halves_assert_exact(const KernelDef *const *tables, CpuLevel level, const KernelRunner *how)
{
    const Kernels k = { arena_new(), tables, level, how };
    check_bits(&k);
    check_adam(&k, true, F32);
    check_adam(&k, false, F32);
    check_adam(&k, true, BF16);
    arena_free(k.arena);
}
