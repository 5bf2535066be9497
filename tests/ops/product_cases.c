/* product_cases.c - cases of products, tables of embeddings and positions. */
#include "case_leaves.h"
#include "ops/contract.h"
#include "ops/contract_epilogue.h"
#include "ops/embed.h"
#include "ops/float8.h"
#include "ops/grid.h"
#include "ops/panels.h"
#include "ops/positions.h"

/* Sizes belong to the letters in order of appearance; `*` is two dimensions, n[0] and n[1]. */
static Value *build_contract(Graph *g, const OpCase *c, const int64_t *n)
{
    int64_t size[2][MAX_DIMS], of_letter[N_LETTERS] = { 0 };
    int n_dims[2] = { 0 }, operand = 0;
    const int64_t *next = strchr(c->dims, '*') ? n + 2 : n;
    for (const char *p = c->dims; *p && *p != '-'; p++) {
        if (*p == ',') {
            operand++;
        } else if (*p == '*') {
            size[operand][n_dims[operand]++] = n[0];
            size[operand][n_dims[operand]++] = n[1];
        } else {
            int64_t *letter = &of_letter[*p - 'a'];
            if (!*letter) *letter = *next++;
            size[operand][n_dims[operand]++] = *letter;
        }
    }
    Value *a = floats(g, "a", n_dims[0], size[0]), *b = floats(g, "b", n_dims[1], size[1]);
    return contract(g, c->dims, a, b);
}

/* Two leading sizes, k, n: a linear layer with all that may end its products. */
static Value *build_epilogues(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    Value *x = floats(g, "x", 3, n), *w = floats(g, "w", 2, (int64_t[]){ n[3], n[2] }),
          *bias = floats(g, "bias", 1, n + 3),
          *dy = floats(g, "dy", 3, (int64_t[]){ n[0], n[1], n[3] });
    contract_bias(g, x, w, bias);
    contract_gelu(g, x, w, bias, true);
    contract_gelu(g, x, w, bias, false);
    contract_gelu_grad(g, dy, w, x);
    contract_add(g, x, w, NULL, dy);
    contract_add(g, x, w, bias, dy);
    contract_grad_add(g, dy, w, x);
    return NULL;
}

/* Two leading sizes, k, n; attributes: of both ops. */
static Value *build_panels(Graph *g, const OpCase *c, const int64_t *n)
{
    const bool pairs = ((const Panels *)c->attrs)->pairs;
    const int64_t size[] = { n[3], n[2] };
    panels(g, floats(g, "weight", 2, size), pairs);
    contract_panels(g, floats(g, "x", 3, n), floats(g, "panels", 2, size), pairs);
    return NULL;
}

/* batch, sequence, vocabulary, width */
static Value *build_embed(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    return embed(g, ids(g, "ids", n[2], 2, n), floats(g, "table", 2, n + 2));
}

/* batch, sequence, width; positions in the table, of which the first ones are of none */
static Value *build_positions(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    Value *table = floats(g, "table", 2, (int64_t[]){ n[3], n[2] });
    return add_positions(g, floats(g, "x", 3, n), table, n[4]);
}

/* batch, sequence; the first position */
static Value *build_document_positions(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    document_positions(g, ids(g, "documents", 1, 2, n), n[2]);
    return NULL;
}

/* Attributes: the format. dims: those of the scale; for quantize and contract all of them. */
static Value *build_float8_scale(Graph *g, const OpCase *c, const int64_t *n)
{
    float8_scale(g, c->dims, floats(g, "x", count(n), n), c->attrs);
    return NULL;
}

/* Scales by rows and by columns, and one for all. */
static Value *build_float8_quantize(Graph *g, const OpCase *c, const int64_t *n)
{
    Value *x = floats(g, "x", 3, n);
    float8_quantize(g, "*k,->*k", x, uniform(leaf(g, "all", F32, 0, NULL), 0.5, 1.5), c->attrs);
    float8_quantize(g, "*k,*->*k", x, uniform(leaf(g, "rows", F32, 2, n), 0.5, 1.5), c->attrs);
    float8_quantize(g, "*k,k->*k", x, uniform(leaf(g, "columns", F32, 1, n + 2), 0.5, 1.5),
                    c->attrs);
    return NULL;
}

/* Two leading sizes, k, n; attributes: the format of a. */
static Value *build_float8_contract(Graph *g, const OpCase *c, const int64_t *n)
{
    const Dtype t = (Dtype)((const Float8Format *)c->attrs)->dtype;
    Value *one = uniform(leaf(g, "one", F32, 0, NULL), 0.5, 1.5),
          *rows = uniform(leaf(g, "rows", F32, 2, n), 0.5, 1.5),
          *columns = uniform(leaf(g, "columns", F32, 1, n + 3), 0.5, 1.5);
    Value *x = leaf(g, "x", t, 3, n), *w = leaf(g, "w", F8_E4M3, 2, (int64_t[]){ n[3], n[2] }),
          *dy = leaf(g, "dy", t, 3, (int64_t[]){ n[0], n[1], n[3] }),
          *x8 = leaf(g, "x8", F8_E4M3, 3, n);
    float8_contract(g, "*k,nk,,->*n", x, w, one, one, F64, NULL);
    float8_contract(g, "*k,nk,*,n->*n", x, w, rows, columns, F64, NULL);
    float8_contract(g, "*n,*k,n,->nk", dy, x8, columns, one, F64, NULL);
    return NULL;
}

/* Two leading sizes, k, n: those of a linear layer, with one scale and with one for each row that
 * is summed over. */
static Value *build_float8_contract_of_gradients(Graph *g, const OpCase *c, const int64_t *n)
{
    (void)c;
    Value *one = uniform(leaf(g, "one", F32, 0, NULL), 0.5, 1.5),
          *tokens = uniform(leaf(g, "tokens", F32, 2, n), 0.5, 1.5),
          *inner = uniform(leaf(g, "inner", F32, 1, n + 2), 0.5, 1.5),
          *outer = uniform(leaf(g, "outer", F32, 1, n + 3), 0.5, 1.5);
    Value *w = leaf(g, "w", F8_E4M3, 2, (int64_t[]){ n[3], n[2] }),
          *x = leaf(g, "x", F8_E4M3, 3, n),
          *dy = leaf(g, "dy", F8_E5M2, 3, (int64_t[]){ n[0], n[1], n[3] });
    float8_contract(g, "*n,nk,,->*k", dy, w, one, one, F64, NULL);
    float8_contract(g, "*n,nk,*,k->*k", dy, w, tokens, inner, F64, NULL);
    float8_contract(g, "*n,*k,,->nk", dy, x, one, one, F64, NULL);
    float8_contract(g, "*n,*k,n,k->nk", dy, x, outer, inner, F64, NULL);
    return NULL;
}

static Value *build_grid_size(Graph *g, const OpCase *c, const int64_t *n)
{
    grid_size(g, c->dims, floats(g, "x", count(n), n), ((const GridSize *)c->attrs)->count);
    return NULL;
}

/* Sizes of rows, and one of all; those that are too small, too. */
static Value *build_grid_round(Graph *g, const OpCase *c, const int64_t *n)
{
    const int64_t steps = ((const GridRound *)c->attrs)->steps;
    Value *x = floats(g, "x", 3, n);
    grid_round(g, "*k,->*k", x, uniform(leaf(g, "all", F32, 0, NULL), 0.5, 1.5), steps);
    grid_round(g, "*k,*->*k", x, uniform(leaf(g, "rows", F32, 2, n), 0.5, 1.5), steps);
    grid_round(g, "*k,*->*k", x, uniform(leaf(g, "small", F32, 2, n), 0, 1e-6), steps);
    return NULL;
}

/* clang-format off */
#define FLOAT8(format, by_two) &(const Float8Format){ format, by_two }
#define FLOATS &(const Panels){ false }
#define PAIRS &(const Panels){ true }
#define TEXTS(...) (const int64_t[CASE_TEXTS]){ __VA_ARGS__ }

const OpCase product_cases[] = {
    { "linear", build_contract, .dims = "*k,nk->*n", .n = { 2, 3, 7, 5 }, .large = { 1, 1024, 768, 2304 } },
    { "linear of many features", build_contract, .dims = "*k,nk->*n", .n = { 3, 29, 150, 133 } },
    { "linear with whole tiles", build_contract, .dims = "*k,nk->*n", .n = { 1, 96, 128, 192 } },
    { "linear, transposed weight", build_contract, .dims = "*n,nk->*k", .n = { 2, 3, 7, 5 } },
    { "outer product", build_contract, .dims = "*n,*k->nk", .n = { 2, 6, 7, 5 } },
    { "product of batches", build_contract, .dims = "bik,bjk->bij", .n = { 2, 3, 8, 5 } },
    { "product of heads", build_contract, .dims = "bshn,hnk->bshk", .n = { 2, 3, 4, 5, 6 }, .large = { 1, 512, 16, 128, 512 } },
    { "product of heads, transposed weight", build_contract, .dims = "bshk,hnk->bshn", .n = { 1, 37, 3, 36, 70 } },
    { "product of heads of one token", build_contract, .dims = "bshn,hnk->bshk", .n = { 1, 1, 4, 33, 130 } },
    { "product of heads, its second factor between", build_contract, .dims = "hmk,nhk->mhn", .n = { 3, 7, 9, 5 } },
    { "product of heads that lie turned", build_contract, .dims = "khm,khn->nhm", .n = { 6, 3, 7, 5 } },
    { "sum over two letters", build_contract, .dims = "sgd,ngd->sn", .n = { 3, 2, 4, 5 } },
    { "dot product", build_contract, .dims = "k,k->", .n = { 6 } },
    { "weighted sum of rows", build_contract, .dims = "bst,btd->bsd", .n = { 2, 4, 4, 3 } },
    { "products with ends", build_epilogues, .n = { 2, 6, 16, 24 } },
    { "products with ends of odd sizes", build_epilogues, .n = { 2, 3, 7, 5 } },
    { "panels", build_panels, .attrs = FLOATS, .n = { 1, 1, 7, 19 }, .large = { 1, 16, 768, 2304 } },
    { "panels of pairs", build_panels, .attrs = PAIRS, .n = { 1, 1, 8, 35 } },
    { "panels of pairs, two texts", build_panels, .attrs = PAIRS, .n = { 2, 1, 70, 64 } },
    { "panels, three texts", build_panels, .attrs = FLOATS, .n = { 3, 1, 130, 65 } },
    { "panels, seven rows", build_panels, .attrs = FLOATS, .n = { 1, 7, 33, 31 } },
    { "panels of pairs, nine rows", build_panels, .attrs = PAIRS, .n = { 3, 3, 290, 33 } },
    { "panels, sixteen texts", build_panels, .attrs = FLOATS, .n = { 16, 1, 300, 200 } },
    { "panels of pairs, 23 rows", build_panels, .attrs = PAIRS, .n = { 23, 1, 34, 50 } },
    { "panels, 48 rows", build_panels, .attrs = FLOATS, .n = { 4, 12, 131, 40 } },
    { "panels of pairs, a prompt", build_panels, .attrs = PAIRS, .n = { 1, 77, 66, 150 } },
    { "panels, a prompt", build_panels, .attrs = FLOATS, .n = { 1, 50, 801, 77 } },
    { "panels in place", build_panels, .attrs = FLOATS, .n = { 1, 63, 130, 230 } },
    { "panels of pairs in place", build_panels, .attrs = PAIRS, .n = { 2, 37, 38, 200 } },
    { "float8_scale of all", build_float8_scale, .dims = "*k->", .attrs = FLOAT8(F8_E4M3, false), .n = { 2, 3, 37 } },
    { "float8_scale of rows", build_float8_scale, .dims = "*k->*", .attrs = FLOAT8(F8_E4M3, true), .n = { 2, 4, 37 } },
    { "float8_scale of columns", build_float8_scale, .dims = "*k->k", .attrs = FLOAT8(F8_E5M2, false), .n = { 2, 4, 70 } },
    { "float8_scale of many", build_float8_scale, .dims = "*k->", .attrs = FLOAT8(F8_E4M3, false), .n = { 3, 50, 151 } },
    { "float8_quantize", build_float8_quantize, .attrs = FLOAT8(F8_E4M3, false), .n = { 2, 3, 38 } },
    { "float8_quantize of gradients", build_float8_quantize, .attrs = FLOAT8(F8_E5M2, false), .n = { 2, 3, 38 } },
    { "float8_contract", build_float8_contract, .attrs = FLOAT8(F8_E4M3, false), .n = { 2, 3, 34, 10 } },
    { "float8_contract in whole units", build_float8_contract, .attrs = FLOAT8(F8_E4M3, false), .n = { 2, 8, 32, 80 } },
    { "float8_contract of gradients in whole units", build_float8_contract_of_gradients, .n = { 2, 16, 80, 32 } },
    { "float8_contract of gradients", build_float8_contract, .attrs = FLOAT8(F8_E5M2, false), .n = { 2, 20, 34, 18 } },
    { "grid_size of rows", build_grid_size, .dims = "*k->*", .attrs = &(const GridSize){ 0 }, .n = { 2, 4, 37 }, .large = { 1, 1024, 2560 } },
    { "grid_size of all", build_grid_size, .dims = "nk->", .attrs = &(const GridSize){ 8 * 37 }, .n = { 8, 37 } },
    { "grid_size of many", build_grid_size, .dims = "nk->", .attrs = &(const GridSize){ 150 * 151 }, .n = { 150, 151 }, .large = { 6912, 2560 } },
    { "grid_round to three", build_grid_round, .attrs = &(const GridRound){ 1 }, .n = { 2, 3, 38 } },
    { "grid_round to 255", build_grid_round, .attrs = &(const GridRound){ 127 }, .n = { 2, 4, 64 }, .large = { 1, 1024, 2560 } },
    { "embed", build_embed, .n = { 2, 6, 8, 3 }, .large = { 16, 256, 4096, 768 } },
    { "embed, more ids than rows", build_embed, .n = { 4, 50, 7, 33 } },
    { "embed, many ids of a few rows", build_embed, .n = { 3, 500, 4, 8 } },
    { "embed, many rows", build_embed, .n = { 2, 40, 1500, 8 } },
    { "embed, wide", build_embed, .n = { 2, 90, 3, 272 } },
    { "add_positions", build_positions, .n = { 2, 4, 3, 8 }, .large = { 16, 256, 768, 256 } },
    { "document_positions", build_document_positions, .n = { 4, 11 } },
    { "document_positions from the third row on", build_document_positions, .n = { 4, 11, 2 } },
    { "add_positions from the third row on", build_positions, .n = { 3, 5, 16, 8, 2 } },
    { "add_positions after others, from the third row on", build_positions, .position = 3, .n = { 2, 4, 3, 9, 2 } },
    { "add_positions, wide", build_positions, .n = { 21, 5, 16, 7 } },
    { "add_positions after others", build_positions, .position = 5, .n = { 2, 4, 3, 9 } },
    { "add_positions of texts of their own lengths", build_positions, .texts = TEXTS(5, 0, 3), .n = { 3, 1, 5, 9 } },
    { 0 },
};
/* clang-format on */
