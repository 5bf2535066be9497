/* test_convert.c - a checkpoint written in every format from every other one; what diff tells. */
#include "base/file.h"
#include "checkpoint/convert.h"
#include "sample_state.h"
#include "test.h"
#include <string.h>

static const struct {
    const char *name;
    ConvertTo to;
    bool has_values;
} forms[] = { { "native", TO_NATIVE, true },
              { "dcp", TO_DCP, true },
              { "all.bin", TO_TORCH, true },
              { "all.safetensors", TO_SAFETENSORS, false } };
enum { N_FORMS = 4 };

static const char *save(Arena *a, const char *name, int seed)
{
    const char *path = path_join(a, test_folder(), name);
    CheckpointContent c = sample_content(a, seed);
    c.layout = LAYOUT_DCP;
    assert_no_error(checkpoint_write(path, &c));
    return path;
}

static CheckpointReader *open_at(Arena *a, const char *path)
{
    CheckpointReader *r;
    assert_no_error(checkpoint_open(a, path, &r));
    return r;
}

static const char *diff(Arena *a, const char *x, const char *y, int64_t expected)
{
    Text t = { 0 };
    int64_t n;
    assert_no_error(checkpoint_diff(open_at(a, x), open_at(a, y), &t, &n));
    if (n != expected) fail_msg("%lld differences: %s", (long long)n, t.ptr);
    const char *text = arena_string(a, t.ptr ? t.ptr : "");
    text_free(&t);
    return text;
}

TEST(every_format_is_converted_into_every_other_one)
{
    Arena *a = arena_new();
    const char *source = save(a, "source", 3);
    for (int i = 0; i < N_FORMS; i++) {
        const char *one = path_join(a, test_folder(), forms[i].name);
        assert_no_error(checkpoint_convert(open_at(a, source), one, forms[i].to, false));
        assert_no_error(checkpoint_verify(open_at(a, one)));
        diff(a, source, one, forms[i].has_values ? 0 : 3);
        for (int k = 0; k < N_FORMS; k++) {
            const char *other =
                path_join(a, test_folder(), arena_printf(a, "again/%d/%s", i, forms[k].name));
            assert_no_error(make_directories(path_folder(a, other)));
            assert_no_error(checkpoint_convert(open_at(a, one), other, forms[k].to, false));
            diff(a, source, other, forms[i].has_values && forms[k].has_values ? 0 : 3);
        }
    }
    arena_free(a);
}

TEST(parameters_alone_are_a_flat_dict_for_torch)
{
    Arena *a = arena_new();
    const char *source = save(a, "source", 3), *file = path_join(a, test_folder(), "model.bin");
    assert_no_error(checkpoint_convert(open_at(a, source), file, TO_TORCH, true));
    const char *text = diff(a, source, file, 2 + 3); /* two of the optimizer, three values */
    assert_contains(text, "wte.weight.exp_avg: only in ");
    assert_contains(text, "param_groups.transformer.wte.weight.betas: only in ");
    arena_free(a);
}

TEST(diff_tells_what_differs)
{
    Arena *a = arena_new();
    const char *x = save(a, "x", 3), *y = path_join(a, test_folder(), "y");
    CheckpointContent c = sample_content(a, 3);
    StateTensor *state = NEW_N(a, StateTensor, c.n);
    memcpy(state, c.state, sizeof *state * (size_t)c.n);
    state[1].whole[2] = state[1].part.size[2] = 2;
    ((float *)state[3].part.data)[0] = 1;
    state[4].name = "app.model.other";
    c.state = state;
    c.n_objects = 2;
    assert_no_error(checkpoint_write(y, &c));
    const char *text = diff(a, x, y, 5);
    assert_contains(text, "lm_head.weight: bf16[2, 3, 4] and bf16[2, 3, 2]\n");
    assert_contains(text, "wte.weight.step: 1 of 1 numbers differ, by up to ");
    assert_contains(text, arena_printf(a, "app.model.counts: only in %s\n", x));
    assert_contains(text, arena_printf(a, "app.model.other: only in %s\n", y));
    assert_contains(text, arena_printf(a, "wte.weight.fused: only in %s\n", x));
    arena_free(a);
}

TEST(a_damaged_checkpoint_is_not_converted)
{
    Arena *a = arena_new();
    const char *source = save(a, "source", 3), *part = path_join(a, source, "__0_0.distcp"),
               *target = path_join(a, test_folder(), "target.safetensors");
    StateTensor state[N_SAMPLE_TENSORS];
    Str file;
    sample_state(a, 3, state);
    assert_no_error(file_read(a, part, &file));
    char *at = memmem(file.ptr, file.len, state[0].part.data, 16);
    *at ^= 1;
    assert_no_error(file_write(part, file.ptr, file.len));
    assert_error_has(checkpoint_convert(open_at(a, source), target, TO_SAFETENSORS, false),
                     "the file is damaged");
    assert_false(file_exists(target));
    arena_free(a);
}
