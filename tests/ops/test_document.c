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
    for (int i = 0; all_ops[i]; i++) {
        assert_non_null(all_ops[i]->doc);
        assert_ptr_equal(op_find(all_ops[i]->name), all_ops[i]); /* no name twice */
        assert_true((all_ops[i]->reference != NULL) != !!(all_ops[i]->flags & OP_VIEW));
        for (const Field *f = all_ops[i]->attrs; f && f->name; f++) assert_non_null(f->doc);
    }
}
