/* test_select_keys.c - which keys an indexer selects, and attention to them, against numbers
 * computed by hand and against attention to all keys. */
#include "op_sheet.h"
#include "ops/attention.h"
#include "ops/select_keys.h"
#include "ops/selected_attention.h"
#include "test.h"
#include <math.h>

/* Two heads of width 1 over five tokens, whose scores are the same for all queries: 3, 0, 4, 3, -2.
 * Of the second head products below 0 count as 0. */
static void selects(int64_t top_k, const double *documents, int64_t position, int64_t n,
                    const double *expected)
{
    static const double q[] = { 1, -1, 1, -1, 1, -1, 1, -1, 1, -1 }, k[] = { 3, 0, 4, 3, -1 },
                        w[] = { 1, -2, 1, -2, 1, -2, 1, -2, 1, -2 };
    Sheet *s = sheet_new();
    s->now.position = position;
    Value *of_queries = give(s, "q", SIZES(1, 5, 2, 1), q);
    Value *of_keys = give(s, "k", SIZES(1, 5, 1), k);
    Value *weights = give(s, "w", SIZES(1, 5, 2), w);
    Value *d = documents ? give_ints(s, "documents", SIZES(1, 5), documents) : NULL;
    expect(s, select_keys(s->graph, of_queries, of_keys, weights, d, &(SelectKeys){ top_k, 1 }), n,
           expected);
    sheet_free(s);
}

TEST(the_keys_with_the_highest_scores_are_selected_of_equal_ones_the_earlier)
{
    selects(2, NULL, 0, ARE(0, -1, 0, 1, 0, 2, 0, 2, 0, 2));
    selects(3, NULL, 0, ARE(0, -1, -1, 0, 1, -1, 0, 1, 2, 0, 2, 3, 0, 2, 3));
    selects(1, NULL, 0, ARE(0, 0, 2, 2, 2));
}

TEST(all_keys_are_selected_where_there_are_no_more)
{
    selects(9, NULL, 4,
            ARE(0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4));
}

TEST(keys_of_other_documents_and_later_ones_are_not_selected)
{
    selects(2, NUMBERS(0, 0, 1, 1, 1), 0, ARE(0, -1, 0, 1, 2, -1, 2, 3, 2, 3));
    selects(2, NULL, -1, ARE(-1, -1, 0, -1, 0, 1, 0, 2, 0, 2));
}

TEST(scores_that_are_no_numbers_are_equal)
{
    static const double q[] = { 1, 1, 1 }, k[] = { 1, 2, 3 }, w[] = { 1, NAN, NAN };
    Sheet *s = sheet_new();
    Value *of_queries = give(s, "q", SIZES(1, 3, 1, 1), q);
    Value *of_keys = give(s, "k", SIZES(1, 3, 1), k);
    Value *weights = give(s, "w", SIZES(1, 3, 1), w);
    expect(s, select_keys(s->graph, of_queries, of_keys, weights, NULL, &(SelectKeys){ 2, 1 }),
           ARE(0, -1, 0, 1, 0, 1));
    sheet_free(s);
}

/* One head of width 2 over three tokens. */
static const double q[] = { 1, 0.5, -0.5, 2, 0.25, -1 };
static const double k[] = { 0.5, 1, 1.5, -0.5, -1, 0.75 };
static const double v[] = { 1, 2, 3, -1, 0.5, 0 };

static Value *attend_to(Sheet *s, int64_t n, const double *list)
{
    Value *query = give(s, "q", SIZES(1, 3, 1, 1, 2), q), *key = give(s, "k", SIZES(1, 3, 1, 2), k),
          *value = give(s, "v", SIZES(1, 3, 1, 2), v);
    Value *selected = give_ints(s, "selected", SIZES(1, 3, n), list);
    return selected_attention(s->graph, query, key, value, selected, &(SelectedAttention){ 0 });
}

/* The numbers are those of attention to all earlier tokens, and to a window of two. */
TEST(attention_to_selected_keys_is_attention_that_sees_no_other)
{
    Sheet *s = sheet_new();
    Value *o = attend_to(s, 3, NUMBERS(0, -1, -1, 0, 1, -1, 0, 1, 2));
    expect(s, o,
           ARE(1, 2, 1.15527700813684, 1.76708448779474, 2.20022846277298, -0.269809950301926));
    expect(s, o->from->out[1], ARE(0.707106781186547, 1.3182549213276, 1.06065085523345));
    sheet_free(s);
    s = sheet_new();
    o = attend_to(s, 2, NUMBERS(0, -1, 0, 1, 1, 2));
    expect(s, o,
           ARE(1, 2, 1.15527700813684, 1.76708448779474, 2.47537309466096, -0.790149237864382));
    sheet_free(s);
}

TEST(a_query_without_selected_keys_gives_zeros)
{
    Sheet *s = sheet_new();
    expect(s, attend_to(s, 1, NUMBERS(-1, 0, 1)), ARE(0, 0, 1, 2, 3, -1));
    sheet_free(s);
}

TEST(a_selected_key_that_is_not_there_is_an_error)
{
    Sheet *s = sheet_new();
    attend_to(s, 1, NUMBERS(0, 3, 1));
    assert_int_equal(sheet_status(s), KERNEL_BAD_INDEX);
    sheet_free(s);
}
