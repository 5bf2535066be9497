/* blanks_bpe.c - BPE of characters for texts in which a blank stands for U+2581. */
#include "base/utf8.h"
#include "tokenizer/bpe/blanks.h"
#include "tokenizer/bpe/walk.h"

static int64_t cut(const WordModel *self, const char *text, uint32_t len, uint32_t from,
                   uint32_t until, uint32_t *end)
{
    const JoinTable *j = ((const Bpe *)self)->joins;
    return j->cut_groups(j, text, len, from, until, end);
}

/* The joints of U+2581 become those of the blank. `apart`: nothing is joined to a blank after it.
 */
static JoinTable *joints(Arena *a, const JoinTable *from, bool apart)
{
    JoinTable *j = joins_new(a);
    for (int left = 0; left < 256; left++) {
        for (int right = 0; right < 256; right++) {
            if (apart && right == ' ') continue;
            uint8_t l = left == ' ' ? BLANK_BYTE : (uint8_t)left;
            uint8_t r = right == ' ' ? BLANK_BYTE : (uint8_t)right;
            if (joins_can(from, l, r)) joins_set(j, (uint8_t)left, (uint8_t)right);
        }
    }
    joins_group(j);
    return j;
}

const WordModel *bpe_with_blanks(Arena *a, const WordModel *model, bool apart)
{
    uint32_t blank = vocab_find(model->vocab, str_of("\xE2\x96\x81"));
    if (model->cut != bpe_cut || blank == NO_TOKEN) return NULL;
    Bpe *b = NEW(a, Bpe);
    *b = *(const Bpe *)model;
    b->ascii_id[' '] = blank;
    b->joins = joints(a, b->joins, apart);
    b->base.cut = cut;
    Arena *scratch = arena_new();
    Str *name = NEW_N(scratch, Str, b->vocab.n_ids);
    for (int64_t id = 0; id < b->vocab.n_ids; id++) {
        if (b->vocab.name[id].len) name[id] = blanks_in_name(scratch, b->vocab.name[id]);
    }
    if (b->walk) b->walk = bpe_walk_new(a, b, name, b->vocab.n_ids, bpe_symbol_at, b);
    arena_free(scratch);
    return &b->base;
}
