/* test_document.c - docs/ops.md is what the table of ops says. */
#include "generated.h"
#include "ops/all_ops.h"
#include "ops/document.h"
#include "test.h"
#include <string.h>

TEST(docs_ops_md_is_generated)
{
    Text page = { 0 };
    ops_document(&page);
    assert_generated("docs/ops.md", page.ptr);
    text_free(&page);
}

TEST(every_op_is_documented)
{
    for (int i = 0; op_at(i); i++) {
        assert_non_null(op_at(i)->doc);
        assert_ptr_equal(op_find(op_at(i)->name), op_at(i)); /* no name twice */
        assert_true((op_at(i)->reference != NULL) != !!(op_at(i)->flags & OP_VIEW));
        for (const Field *f = op_at(i)->attrs; f && f->name; f++) assert_non_null(f->doc);
    }
}
