/* joins.c - fills a table of joints and cuts text by it. */
#include "tokenizer/bpe/joins.h"

JoinTable *joins_new(Arena *a)
{
    JoinTable *j = NEW(a, JoinTable);
    for (int left = 0; left < 256; left++) j->bit[left][2] = UINT64_MAX; /* 0x80 to 0xBF */
    return j;
}

void joins_set(JoinTable *j, uint8_t left, uint8_t right)
{
    j->bit[left][right >> 6] |= (uint64_t)1 << (right & 63);
}

/* Is the character of three bytes at p the blank? */
static bool is_blank(const char *p)
{
    return p[0] == '\xE2' && p[1] == '\x96' && p[2] == '\x81';
}

static uint8_t last_byte(Str s)
{
    return s.len >= 3 && is_blank(s.ptr + s.len - 3) ? BLANK_BYTE : (uint8_t)s.ptr[s.len - 1];
}

static uint8_t first_byte(Str s)
{
    return s.len >= 3 && is_blank(s.ptr) ? BLANK_BYTE : (uint8_t)s.ptr[0];
}

void joins_add(JoinTable *j, Str left, Str right)
{
    if (left.len && right.len) joins_set(j, last_byte(left), first_byte(right));
}

void joins_add_inside(JoinTable *j, Str text)
{
    for (size_t i = 1; i < text.len; i++)
        joins_add(j, (Str){ text.ptr, i }, (Str){ text.ptr + i, text.len - i });
}

int64_t joins_cut(const JoinTable *j, const char *text, uint32_t len, uint32_t from, uint32_t until,
                  uint32_t *end)
{
    int64_t n = 0;
    uint8_t left = first_byte((Str){ text + from, len - from });
    uint32_t i = from;
    if (left == BLANK_BYTE) i += 2;
    for (i++; i < len; i++) {
        uint8_t right = (uint8_t)text[i];
        bool blank = right == 0xE2 && len - i >= 3 && is_blank(text + i);
        if (blank) right = BLANK_BYTE;
        if (!joins_can(j, left, right)) {
            end[n++] = i;
            if (i >= until) return n;
        }
        left = right;
        if (blank) i += 2;
    }
    end[n++] = len;
    return n;
}
