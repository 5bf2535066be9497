/* cl100k_blocks.h - the patterns of cl100k, Llama 3 and Qwen 2 over masks.
 *
 * A block begins where a word begins, so that nothing before it matters. With letters L, numbers N,
 * white space S, of it line ends C, others O, words start
 *   - where L starts; but one character before it that is S without C, or a single O with no blank
 *     before, starts the word instead;
 *   - at every third number of a run, or at every number;
 *   - where O starts, or at the blank before; line ends right after O belong to it;
 *   - where what is left of S starts, after the last line end of such a run, and at its last
 *     character when that is no line end and something follows;
 *   - after a contraction whose apostrophe is a single O with no blank before.
 * Words are settled up to the last start in the block, but not within white space that may go on
 * after it. */
#ifndef TOKENIZER_PRETOKENIZE_CL100K_BLOCKS_H
#define TOKENIZER_PRETOKENIZE_CL100K_BLOCKS_H
#include "tokenizer/pretokenize/blocks.h"
#include "tokenizer/pretokenize/cl100k.h"
#include <string.h>

static inline uint64_t run_starts(uint64_t run)
{
    return run & ~(run << 1);
}

/* Starts that white space makes; `space` is what does not belong to the O before it. */
static inline uint64_t space_starts(const char *text, const Masks *m, uint64_t space)
{
    uint64_t line_end = m->line_end & space, plain = space & ~line_end;
    uint64_t plain_start = run_starts(plain);
    uint64_t starts = run_starts(space) | plain_start;
    /* Plain white space before a line end is part of the word that ends with it. */
    for (uint64_t before_line = (plain_start + plain) & line_end & ~plain; before_line;
         before_line &= before_line - 1) {
        uint64_t below = (before_line & -before_line) - 1;
        uint64_t start = (uint64_t)1 << (63 - __builtin_clzll(plain_start & below));
        if (line_end & start >> 1) starts &= ~start;
    }
    uint64_t last = plain & ~(space >> 1) & ~(m->outside >> 1);
    if (last & m->wide_space) last = at_first_byte(text, last, m->wide_space);
    return starts | last;
}

/* Starts of words of up to three numbers. Bytes are counted, so of a run with numbers of several
 * bytes nothing is known but its start, where *known ends. */
static inline uint64_t number_starts(const Masks *m, uint64_t *known)
{
    uint64_t next = run_starts(m->number), starts = 0;
    if (m->wide_number) {
        uint64_t first = m->wide_number & -m->wide_number;
        *known = first_bits(64 - __builtin_clzll(next & (first | (first - 1))));
    }
    uint64_t four = m->number & m->number << 1 & m->number << 2 & m->number << 3;
    for (; next; next = next << 3 & four) starts |= next;
    return starts;
}

/* Bits where words start; bit 0 is one. `group`: how many numbers make a word. */
static inline uint64_t cl100k_starts(const char *text, const Masks *m, int group)
{
    uint64_t letter = m->letter, number = m->number;
    uint64_t other = ~(letter | number | m->space | m->outside);
    uint64_t after_blank = m->blank << 1;
    uint64_t other_start = run_starts(other), single = other_start & ~after_blank;
    uint64_t behind_single = ((single << 1) + m->continuation) & ~m->continuation;
    uint64_t joined = behind_single | (m->space & ~m->line_end) << 1;
    uint64_t starts = (run_starts(letter) & ~joined) | single;

    uint64_t behind_other = (other << 1) & ~other & m->line_end;
    uint64_t taken = m->line_end & ~(behind_other + m->line_end);
    uint64_t space = m->space & ~taken;
    starts |= space_starts(text, m, space);

    uint64_t known = UINT64_MAX;
    starts |= group == 1 ? number & ~m->continuation : number_starts(m, &known);
    uint64_t apostrophes = m->apostrophe & single & (letter >> 1 | (uint64_t)1 << 63);
    for (; apostrophes; apostrophes &= apostrophes - 1) {
        int at = __builtin_ctzll(apostrophes), len = cl100k_contraction(text + at);
        if (len && at + len < 64) starts |= (uint64_t)1 << (at + len);
    }
    if (space >> 63) { /* it may go on */
        int start = ~space ? 64 - __builtin_clzll(~space) : 0;
        starts &= first_bits(start + 1);
    }
    return starts & known;
}

/* A part of a text on its way through the blocks. A block begins where the one before ended, so the
 * CPU has little to overlap within a part: two parts take turns. */
typedef struct TextPart {
    uint32_t at, until;
    int64_t n;
    uint32_t *end;
} TextPart;

static inline bool is_ascii_letter(char c)
{
    return (unsigned char)((c | 0x20) - 'a') < 26;
}

/* A place near the middle that is sure to start a word, a blank between two letters; `until` when
 * there is none nearby. */
static inline uint32_t sure_start(const char *text, uint32_t from, uint32_t until)
{
    enum { SHORT = 128, NEARBY = 128 };
    uint32_t half = (until - from) / 2;
    const char *middle = text + from + half, *end = middle + (half < NEARBY ? half : NEARBY);
    for (const char *p = middle; until - from >= SHORT && p < end; p++)
        if (*p == ' ' && is_ascii_letter(p[-1]) && is_ascii_letter(p[1]))
            return (uint32_t)(p - text);
    return until;
}

/* A WordSplitter; see GPT2_SPLITTER. `attributes`: those of masks_of. Words longer than a block,
 * and numbers that are not ASCII, are left to the table. */
#define CL100K_SPLITTER(attributes, name, masks_of, group)                                         \
    attributes static inline __attribute__((always_inline)) void name##_step(                      \
        const char *text, uint32_t len, TextPart *p)                                               \
    {                                                                                              \
        Masks m = masks_of(text + p->at);                                                          \
        uint64_t starts = cl100k_starts(text + p->at, &m, group) & ~(uint64_t)1;                   \
        if (starts) {                                                                              \
            p->n += write_bit_places(p->end + p->n, p->at, starts);                                \
            p->at += 63 - (uint32_t)__builtin_clzll(starts);                                       \
        } else {                                                                                   \
            p->end[p->n++] = p->at = cl100k_word_end(text, len, p->at, group);                     \
        }                                                                                          \
    }                                                                                              \
    attributes int64_t name(const char *text, uint32_t len, uint32_t from, uint32_t until,         \
                            uint32_t *end)                                                         \
    {                                                                                              \
        uint32_t middle = sure_start(text, from, until);                                           \
        TextPart a = { from, middle, 0, end };                                                     \
        TextPart b = { middle, until, 0, end + (middle - from) + 2 * 64 };                         \
        while (a.at < a.until && b.at < b.until) {                                                 \
            name##_step(text, len, &a);                                                            \
            name##_step(text, len, &b);                                                            \
        }                                                                                          \
        while (a.at < a.until) name##_step(text, len, &a);                                         \
        while (b.at < b.until) name##_step(text, len, &b);                                         \
        while (b.n && a.end[a.n - 1] > middle) a.n--;                                              \
        memmove(end + a.n, b.end, (size_t)b.n * sizeof *end);                                      \
        return a.n + b.n;                                                                          \
    }
#endif
