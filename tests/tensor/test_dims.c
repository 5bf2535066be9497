/* test_dims.c - what the notation of dimensions cannot say is an error that names it. */
#include "base/arena.h"
#include "tensor/dims.h"
#include "test.h"
#include <string.h>

static void assert_no_dims(const char *text, int n_in, int n_dims, const char *says)
{
    Arena *a = arena_new();
    const DimSpec *spec;
    Shape in[2] = { { 0 } };
    for (int i = 0; i < n_in; i++) {
        in[i].n_dims = n_dims;
        for (int d = 0; d < n_dims; d++) in[i].size[d] = 2;
    }
    Error *e = dims_parse(a, text, n_in, in, &spec);
    assert_error_has(e, says);
    arena_free(a);
}

TEST(dims_beyond_the_notation_are_named)
{
    assert_no_dims("aA->a", 1, 2, "unexpected 'A'"); /* there are 26 letters */
    assert_no_dims("a1->a", 1, 2, "unexpected '1'");
    assert_no_dims("!a->a", 1, 1, "'!' without a dimension");
    assert_no_dims("abcdefg->a", 1, 6, "input 0 has 6 dimensions, expected 7");
    assert_no_dims("(abcd)->a", 1, 1, "more than 3 factors");
}

TEST(dims_may_use_every_letter)
{
    static const char *const text = "abcdef,ghijkl,mnopqr,stuvwx,yz->az";
    Arena *a = arena_new();
    const DimSpec *spec;
    int64_t size[N_SLOTS];
    Shape in[5];
    for (int i = 0; i < 5; i++) {
        in[i] = (Shape){ .n_dims = i < 4 ? 6 : 2 };
        for (int d = 0; d < in[i].n_dims; d++) in[i].size[d] = 6 * i + d + 1;
    }
    assert_no_error(dims_parse(a, text, 5, in, &spec));
    assert_no_error(dims_bind(spec, in, NULL, size));
    const Shape out = dims_shape(&spec->out[0], size);
    assert_int_equal(out.n_dims, 2);
    assert_int_equal(out.size[0], 1);
    assert_int_equal(out.size[1], 26);
    arena_free(a);
}
