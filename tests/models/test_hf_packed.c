/* test_hf_packed.c - weights of Hugging Face folders in four and in eight bits, with scales. */
#include "base/file.h"
#include "models/hf_folder.h"
#include "models/hf_unwritten.h"
#include "test.h"
#include <math.h>
#include <string.h>

#define PACKED                                                                                     \
    "\"model_type\": \"gpt_oss\", \"vocab_size\": 16, \"hidden_size\": 64, "                       \
    "\"intermediate_size\": 32, \"num_hidden_layers\": 1, \"num_attention_heads\": 2, "            \
    "\"num_key_value_heads\": 1, \"head_dim\": 8, \"num_local_experts\": 2, "                      \
    "\"num_experts_per_tok\": 1, \"rope_scaling\": {}, "                                           \
    "\"quantization_config\": {\"quant_method\": \"mxfp4\"}"

/* Experts' weights become blocks of bytes that count up, and scales of the expert's number. */
static NamedTensor *pack(Arena *a, const NamedTensor *file, int64_t n, int64_t *n_out)
{
    NamedTensor *list = NEW_N(a, NamedTensor, 2 * n);
    *n_out = 0;
    for (int64_t i = 0; i < n; i++) {
        const Tensor *t = &file[i].tensor;
        if (t->n_dims != 3) {
            list[(*n_out)++] = file[i];
            continue;
        }
        Tensor blocks = { .dtype = U8,
                          .n_dims = 4,
                          .size = { t->size[0], t->size[2], t->size[1] / 32, 16 } },
               scales = { .dtype = U8,
                          .n_dims = 3,
                          .size = { t->size[0], t->size[2], t->size[1] / 32 } };
        uint8_t *b = blocks.data = arena_alloc(a, tensor_bytes(&blocks)),
                *s = scales.data = arena_alloc(a, tensor_bytes(&scales));
        for (int64_t k = 0; k < tensor_count(&blocks); k++) b[k] = (uint8_t)(k * 37);
        for (int64_t k = 0; k < tensor_count(&scales); k++)
            s[k] = (uint8_t)(125 + k / (tensor_count(&scales) / 2));
        list[(*n_out)++] = (NamedTensor){ arena_printf(a, "%s_blocks", file[i].name), blocks };
        list[(*n_out)++] = (NamedTensor){ arena_printf(a, "%s_scales", file[i].name), scales };
    }
    return list;
}

/* Gates lie in even rows of the file, what they multiply in odd ones. */
TEST(experts_of_four_bits_are_read_as_bf16)
{
    static const float number[] = { 0, 0.5f,  1,  1.5f,  2,  3,  4,  6,
                                    0, -0.5f, -1, -1.5f, -2, -3, -4, -6 };
    static const struct {
        const char *name;
        int64_t rows, width, step, first;
    } row[] = { { "W", 32, 64, 2, 0 }, { "V", 32, 64, 2, 1 }, { "W_2", 64, 32, 1, 0 } };
    Arena *a = arena_new();
    const HfUnwritten u = hf_unwritten(a, PACKED);
    CheckpointReader *r;
    int64_t n_file;
    NamedTensor *file = pack(a, u.file, u.n_file, &n_file);
    hf_store(a, u.folder, ONE_FILE, file, n_file);
    assert_no_error(hf_open(a, u.model, u.param, u.n, &r));
    for (int k = 0; k < 3; k++) {
        const int64_t i = checkpoint_find(
            r, arena_printf(a, "app.model.transformer.h.0.mlp.experts.%s.weight", row[k].name));
        const int64_t rows = row[k].rows, width = row[k].width, all = rows * row[k].step;
        const Box box = { .n_dims = 3, .start = { 1, 2, 5 }, .size = { 1, 3, 7 } };
        bf16 read[21];
        assert_true(r->entry[i].dtype == BF16);
        assert_no_error(r->get(r, i, &box, read));
        for (int64_t j = 0; j < 21; j++) {
            const int64_t in_file = all + (2 + j / 7) * row[k].step + row[k].first,
                          column = 5 + j % 7, byte = in_file * width / 2 + column / 2;
            const int bits = (uint8_t)(byte * 37) >> (column % 2 ? 4 : 0) & 15;
            assert_true(bf16_to_float(read[j]) == number[bits] * 0.5f);
        }
    }
    NamedTensor *scales = file;
    while (strcmp(scales->name, "model.layers.0.mlp.experts.down_proj_scales") != 0) scales++;
    scales->tensor.size[1] /= 2;
    hf_store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r),
                     "down_proj_scales has the shape [2, 32, 1] and type u8, but config.json makes "
                     "it [2, 64, 1] of u8, for rows of 32 numbers in blocks of 32");
    scales->name = "other";
    hf_store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r),
                     "has no tensor model.layers.0.mlp.experts.down_proj_scales");
    arena_free(a);
}

/* Scales of U8 are exponents, as in files of DeepSeek V4, whose experts are of four bits. */
static double scale_at(Dtype type, const void *scales, int64_t i)
{
    const double x = dtype_get(type, scales, i);
    return type == U8 ? ldexp(1, (int)x - 127) : x;
}

/* Code k of a matrix, of which `columns` bytes are a row. */
static double put_code(Dtype type, uint8_t *codes, int64_t k, int64_t code)
{
    static const float number[] = { 0,   0.5f,  1,  1.5f,  2,  3,  4,  6,
                                    -0., -0.5f, -1, -1.5f, -2, -3, -4, -6 };
    if (type == I8) {
        codes[k / 2] |= (uint8_t)(code % 16 << (k % 2 ? 4 : 0));
        return number[code % 16];
    }
    codes[k] = (uint8_t)(code % 127);
    return dtype_get(type, codes, k);
}

/* Numbers of eight bits with scales in the place of matrices: of blocks of so many rows and
 * columns. What they stand for goes into `plain`. */
static NamedTensor *pack8(Arena *a, const NamedTensor *file, int64_t n, const int64_t *of_eight,
                          Dtype scale_type, NamedTensor *plain, int64_t *n_out)
{
    static const int64_t of_four[] = { 1, 32 };
    NamedTensor *list = NEW_N(a, NamedTensor, 2 * n);
    const bool is_v4 = scale_type == U8;
    *n_out = 0;
    for (int64_t i = 0; i < n; i++) {
        const Tensor *t = &file[i].tensor;
        const char *name = file[i].name;
        plain[i] = list[(*n_out)++] = file[i];
        if (t->n_dims < 2 || (is_v4 && !str_ends(str_of(name), ".weight"))) continue;
        const bool halves = is_v4 && strstr(name, ".experts.");
        const int64_t *block = halves ? of_four : of_eight;
        const int last = t->n_dims - 1;
        const int64_t columns = t->size[last], rows = t->size[last - 1],
                      across = (columns + block[1] - 1) / block[1],
                      down = (rows + block[0] - 1) / block[0];
        Tensor codes = *t, scales = *t, numbers = *t;
        codes.dtype = halves ? I8 : F8_E4M3, scales.dtype = scale_type;
        if (halves) codes.size[last] /= 2;
        scales.size[last] = across, scales.size[last - 1] = down;
        codes.data = arena_alloc(a, tensor_bytes(&codes));
        scales.data = arena_alloc(a, tensor_bytes(&scales));
        numbers.data = arena_alloc(a, tensor_bytes(&numbers));
        for (int64_t k = 0; k < tensor_count(&scales); k++)
            dtype_set(scale_type, scales.data, k,
                      is_v4 ? 120 + (double)(k % 13) : 0.5 + (double)(k % 13) / 16);
        for (int64_t k = 0; k < tensor_count(&numbers); k++) {
            const int64_t row = k / columns % rows, at = k / columns / rows * down * across +
                                                         row / block[0] * across +
                                                         k % columns / block[1];
            ((float *)numbers.data)[k] =
                (float)(put_code(codes.dtype, codes.data, k, (k + i) * 37) *
                        scale_at(scale_type, scales.data, at));
        }
        plain[i].tensor = numbers;
        list[*n_out - 1].tensor = codes;
        list[(*n_out)++] =
            (NamedTensor){ is_v4 ? arena_printf(a, "%.*sscale",
                                                (int)(strlen(name) - strlen("weight")), name)
                                 : arena_printf(a, "%s_scale_inv", name),
                           scales };
    }
    return list;
}

/* The whole of an entry, and what is left of it without the first row and column of each part. */
static void same_numbers(Arena *a, CheckpointReader *r, CheckpointReader *plain, int64_t i)
{
    const CheckpointEntry *e = &r->entry[i];
    Box box = box_whole(e->n_dims, e->size);
    for (int part = 0; part < 2; part++) {
        int64_t n = 1;
        for (int d = 0; d < e->n_dims; d++) {
            if (part && e->size[d] > 1) box.start[d] = 1, box.size[d] = e->size[d] - 1;
            n *= box.size[d];
        }
        float *x = NEW_N(a, float, n), *y = NEW_N(a, float, n);
        assert_no_error(r->get(r, i, &box, x));
        assert_no_error(plain->get(plain, i, &box, y));
        assert_true(e->dtype == F32 && plain->entry[i].dtype == F32);
        for (int64_t k = 0; k < n; k++)
            if (x[k] != y[k])
                fail_msg("number %d of %s is %g, not %g", (int)k, e->name, x[k], y[k]);
    }
}

/* Where tensors are transposed, fused, split by heads, or one for each expert, too. */
static void packed_as(Arena *a, const char *members, const char *config, const int64_t *block,
                      Dtype scale_type)
{
    const HfUnwritten u =
        hf_unwritten(a, arena_printf(a, "%s, \"quantization_config\": {%s}", members, config));
    const char *other = path_join(a, test_folder(), "plain");
    NamedTensor *plain = NEW_N(a, NamedTensor, u.n_file);
    CheckpointReader *r, *p;
    Model m = *u.model;
    HfModel hf = *m.hf;
    int64_t n_file;
    NamedTensor *file = pack8(a, u.file, u.n_file, block, scale_type, plain, &n_file);
    hf_store(a, u.folder, ONE_FILE, file, n_file);
    assert_no_error(make_directories(other));
    hf_store(a, other, ONE_FILE, plain, u.n_file);
    assert_no_error(hf_open(a, u.model, u.param, u.n, &r));
    hf.folder = other;
    hf.packing.format = HF_UNPACKED;
    m.hf = &hf;
    assert_no_error(hf_open(a, &m, u.param, u.n, &p));
    for (int64_t i = 0; i < u.n; i++) same_numbers(a, r, p, i);
}

TEST(weights_of_eight_bits_are_read_with_their_scales_in_every_family)
{
    static const int64_t block[] = { 3, 5 };
    Arena *a = arena_new();
    for (const HfFamily *f = hf_families; f->model_type; f++)
        packed_as(a, hf_members(a, f),
                  "\"quant_method\": \"fp8\", \"fmt\": \"e4m3\", \"weight_block_size\": [3, 5], "
                  "\"activation_scheme\": \"dynamic\", \"modules_to_not_convert\": null",
                  block, f->sparse ? BF16 : F32);
    arena_free(a);
}

TEST(scales_of_rows_and_of_whole_tensors_are_read)
{
    static const char compressed[] =
        "\"quant_method\": \"compressed-tensors\", \"format\": \"float-quantized\", "
        "\"config_groups\": {\"group_0\": {\"weights\": {\"num_bits\": 8, \"type\": \"float\", "
        "\"strategy\": \"%s\", \"symmetric\": true, \"block_structure\": %s}}}";
    static const int64_t block[] = { 4, 2 }, row[] = { 1, 1000 }, all[] = { 1000, 1000 };
    Arena *a = arena_new();
    packed_as(a, hf_llama, arena_printf(a, compressed, "block", "[4, 2]"), block, F32);
    packed_as(a, hf_llama, arena_printf(a, compressed, "channel", "null"), row, BF16);
    packed_as(a, hf_llama, arena_printf(a, compressed, "tensor", "null"), all, F32);
    packed_as(a, hf_llama, "\"quant_method\": \"fp8\", \"activation_scheme\": \"static\"", all,
              BF16);
    arena_free(a);
}

#define DEEPSEEK_V4(expert_width)                                                                  \
    "\"model_type\": \"deepseek_v4\", \"vocab_size\": 16, \"hidden_size\": 40, "                   \
    "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"max_position_embeddings\": 32, "      \
    "\"num_key_value_heads\": 1, \"head_dim\": 8, \"partial_rotary_factor\": 0.5, "                \
    "\"q_lora_rank\": 6, \"o_groups\": 2, \"o_lora_rank\": 5, \"n_routed_experts\": 3, "           \
    "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": " expert_width ", "                    \
    "\"index_n_heads\": 2, \"index_head_dim\": 6, \"index_topk\": 2, \"sliding_window\": 6, "      \
    "\"compress_ratios\": [4, 128], \"num_hash_layers\": 1, \"expert_dtype\": \"fp4\""

/* As the files of DeepSeek V4: two numbers in a byte, and exponents as scales of all. */
TEST(experts_of_four_bits_are_read_with_their_scales)
{
    static const char fp8[] = "\"quant_method\": \"fp8\", \"fmt\": \"e4m3\", \"scale_fmt\": "
                              "\"ue8m0\", \"weight_block_size\": [3, 5]";
    static const int64_t block[] = { 3, 5 };
    static const char name[] = "model.layers.1.ffn.experts.2.w2.weight";
    Arena *a = arena_new();
    packed_as(a, DEEPSEEK_V4("34"), fp8, block, U8);
    const HfUnwritten u = hf_unwritten(
        a, arena_printf(a, "%s, \"quantization_config\": {%s}", DEEPSEEK_V4("34"), fp8));
    NamedTensor *plain = NEW_N(a, NamedTensor, u.n_file);
    CheckpointReader *r;
    int64_t n_file;
    NamedTensor *file = pack8(a, u.file, u.n_file, block, U8, plain, &n_file);
    Tensor *codes = &hf_named(file, name)->tensor, before = *codes;
    codes->size[1]--;
    hf_store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r),
                     "model.layers.1.ffn.experts.2.w2.weight has the shape [40, 16], but "
                     "config.json makes it [40, 34], of numbers of four bits, two of which are a "
                     "byte");
    *codes = before;
    hf_named(file, "model.layers.1.ffn.experts.2.w2.scale")->name = "other";
    hf_store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r), "w2.weight is of four bits, without");
    arena_free(a);
}

TEST(scales_of_eight_bits_must_be_there_and_fit)
{
    static const char name[] = "model.layers.1.mlp.down_proj.weight_scale_inv";
    static const int64_t block[] = { 3, 5 };
    Arena *a = arena_new();
    const HfUnwritten u =
        hf_unwritten(a, arena_printf(a,
                                     "%s, \"quantization_config\": {\"quant_method\": \"fp8\", "
                                     "\"weight_block_size\": [3, 5]}",
                                     hf_llama));
    NamedTensor *plain = NEW_N(a, NamedTensor, u.n_file);
    CheckpointReader *r;
    int64_t n_file;
    NamedTensor *file = pack8(a, u.file, u.n_file, block, F32, plain, &n_file),
                *scales = hf_named(file, name);
    const Tensor before = scales->tensor;
    scales->tensor.n_dims = 0; /* one number is no scale of nine blocks */
    hf_store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(
        hf_open(a, u.model, u.param, u.n, &r),
        "model.safetensors: the scales of model.layers.1.mlp.down_proj.weight have the "
        "shape [] and type f32; with blocks of 3 x 5 they must be [3, 3] of f32, bf16, "
        "f16 or u8 (exponents)");
    scales->tensor = before;
    scales->tensor.dtype = I32;
    hf_store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r), "have the shape [3, 3] and type i32");
    scales->tensor = before;
    scales->name = "model.layers.1.mlp.down_proj.weight_scale";
    hf_store(a, u.folder, ONE_FILE, file, n_file);
    assert_no_error(hf_open(a, u.model, u.param, u.n, &r));
    scales->name = "other";
    hf_store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r),
                     "model.layers.1.mlp.down_proj.weight is of eight bits, without scales: ");
    Tensor *codes = &hf_named(file, "model.layers.1.mlp.down_proj.weight")->tensor;
    codes->dtype = F8_E5M2;
    hf_store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r),
                     "model.layers.1.mlp.down_proj.weight is of type f8_e5m2; with scales only "
                     "f8_e4m3 is known");
    arena_free(a);
}

/* Bytes of four ternary numbers in the place of matrices of blocks, and a scale of 0.5 each. */
static NamedTensor *pack_ternary(Arena *a, const NamedTensor *file, int64_t n, int64_t *n_out)
{
    static const float half[] = { 0.5F };
    NamedTensor *list = NEW_N(a, NamedTensor, 2 * n);
    *n_out = 0;
    for (int64_t i = 0; i < n; i++) {
        Tensor codes = file[i].tensor,
               scale = { .dtype = F32, .n_dims = 1, .size = { 1 }, .data = (void *)half };
        list[(*n_out)++] = file[i];
        if (codes.n_dims != 2 || !strstr(file[i].name, ".layers.")) continue;
        codes.dtype = U8;
        codes.size[0] /= 4;
        uint8_t *to = codes.data = arena_alloc(a, tensor_bytes(&codes));
        for (int64_t k = 0; k < tensor_count(&codes); k++)
            to[k] = (uint8_t)(k % 3 | k / 3 % 3 << 2 | 1 << 4 | (k + 1) % 3 << 6);
        list[*n_out - 1].tensor = codes;
        list[(*n_out)++] = (NamedTensor){ arena_printf(a, "%s_scale", file[i].name), scale };
    }
    return list;
}

static HfUnwritten ternary_folder(Arena *a, const char *options)
{
    return hf_unwritten(
        a, arena_printf(
               a,
               "\"model_type\": \"bitnet\", \"vocab_size\": 16, "
               "\"hidden_size\": 8, \"num_hidden_layers\": 1, "
               "\"num_attention_heads\": 2, \"num_key_value_heads\": 1, \"intermediate_size\": 12, "
               "\"quantization_config\": {\"quant_method\": \"bitnet\"%s}",
               options));
}

/* Quarters of the rows lie in the bits of one another; the mean size of what is read is what the
 * scale makes of 1. */
TEST(ternary_weights_are_read_as_what_is_rounded_to_them)
{
    static const struct {
        const char *options;
        double one;
    } row[] = { { "", 2 },
                { ", \"quantization_mode\": \"online\"", 2 },
                { ", \"linear_class\": \"autobitlinear\"", 0.5 } };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        enum { ROWS = 8, COLUMNS = 12 };
        Arena *a = arena_new();
        const HfUnwritten u = ternary_folder(a, row[k].options);
        CheckpointReader *r;
        int64_t n_file;
        NamedTensor *file = pack_ternary(a, u.file, u.n_file, &n_file);
        hf_store(a, u.folder, ONE_FILE, file, n_file);
        assert_no_error(hf_open(a, u.model, u.param, u.n, &r));
        const int64_t i = checkpoint_find(r, "app.model.transformer.h.0.mlp.W_2.weight");
        const Box all = box_whole(2, (int64_t[]){ ROWS, COLUMNS }),
                  part = { .n_dims = 2, .start = { 3, 5 }, .size = { 2, 4 } };
        float whole[ROWS * COLUMNS], some[8];
        double sum = 0;
        assert_true(r->entry[i].dtype == F32);
        assert_no_error(r->get(r, i, &all, whole));
        assert_no_error(r->get(r, i, &part, some));
        for (int j = 0; j < ROWS * COLUMNS; j++) sum += fabs((double)whole[j]);
        assert_close(sum / (ROWS * COLUMNS), row[k].one, 1e-6);
        for (int j = 0; j < ROWS * COLUMNS; j++) {
            const int quarter = j / COLUMNS / 2, at = j / COLUMNS % 2 * COLUMNS + j % COLUMNS;
            const int code[] = { at % 3, at / 3 % 3, 1, (at + 1) % 3 };
            const float sign = (float)(code[quarter] - 1);
            assert_true(sign == 0 ? whole[j] == 0 : whole[j] * sign >= (float)row[k].one);
        }
        for (int j = 0; j < 8; j++)
            assert_true(some[j] == whole[(3 + j / 4) * COLUMNS + 5 + j % 4]);
        arena_free(a);
    }
}

TEST(packed_ternary_weights_must_be_whole)
{
    static const char name[] = "model.layers.0.mlp.down_proj.weight";
    Arena *a = arena_new();
    const HfUnwritten u = ternary_folder(a, "");
    CheckpointReader *r;
    int64_t n_file;
    NamedTensor *file = pack_ternary(a, u.file, u.n_file, &n_file), *codes = hf_named(file, name),
                *scale = hf_named(file, arena_printf(a, "%s_scale", name));
    const Tensor packed = codes->tensor, one = scale->tensor;
    hf_store(a, u.folder, ONE_FILE, u.file, u.n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r), "and four rows one of u8");
    ((uint8_t *)packed.data)[3] = 0xff;
    hf_store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r),
                     "down_proj.weight has a number that is not -1, 0 or 1");
    ((uint8_t *)packed.data)[3] = 0;
    scale->tensor.data = &(float){ 1e8F };
    hf_store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r), "it must be at least 1e-5");
    scale->tensor = packed;
    hf_store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r), "it must be one number");
    scale->tensor = one;
    scale->name = "other";
    hf_store(a, u.folder, ONE_FILE, file, n_file);
    assert_error_has(hf_open(a, u.model, u.param, u.n, &r), "down_proj.weight is packed");
    arena_free(a);
}
