/* ascii_rewrite.c - makes the tables by which blocks of bytes are rewritten. */
#include "tokenizer/sentencepiece/ascii_rewrite.h"
#include <string.h>

static AsciiRewriter *of_level(CpuLevel level)
{
#if defined(__x86_64__)
    if (level != CPU_SCALAR) return level >= CPU_AVX512 ? ascii_rewrite_avx512 : ascii_rewrite_avx2;
#endif
    (void)level;
    return ascii_rewrite_scalar;
}

static void add_row(AsciiRewrite *r, int high)
{
    AsciiRow row = { { 0 }, { 0 } };
    bool changes = false;
    for (int low = 0; low < 16; low++) {
        uint8_t from = (uint8_t)(high << 4 | low), to = r->to[from];
        if (to >= CLOSER_LOOK) continue;
        r->known[low] = (char)((uint8_t)r->known[low] | 1u << high);
        row.flip[low] = (char)(from ^ to);
        changes |= from != to;
    }
    row.is[high] = (char)0xFF;
    if (changes) r->row[r->n_rows++] = row;
}

void ascii_rewrite_complete(AsciiRewrite *r, CpuLevel level)
{
    memset(r->to + 0x80, CLOSER_LOOK, 0x80);
    memset(r->known, 0, sizeof r->known);
    r->n_rows = 0;
    for (int high = 0; high < 8; high++) add_row(r, high);
    r->rewrite = of_level(level);
}
