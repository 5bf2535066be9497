/* utf8_tables.h - which faults of UTF-8 are possible, by half bytes (Keiser and Lemire 2021).
 *
 * The high and low half of the byte before and the high half of a byte each tell which faults are
 * possible; a fault that all three name is there. That leaves the third and fourth bytes of
 * characters: where one must stand, and only there, two continuation bytes in a row are right. */
#ifndef BASE_UTF8_TABLES_H
#define BASE_UTF8_TABLES_H

enum {
    TOO_SHORT = 1,                             /* a first byte without its continuation */
    TOO_LONG = 2,                              /* a continuation after ASCII */
    OVERLONG_3 = 4,                            /* below U+0800 in three bytes */
    TOO_LARGE = 8,                             /* above U+10FFFF, F4 */
    SURROGATE = 16,                            /* U+D800 to U+DFFF */
    OVERLONG_2 = 32,                           /* ASCII in two bytes */
    OVERLONG_4 = 64,                           /* below U+10000 in four bytes, or above U+13FFFF */
    TWO_MORE = 128,                            /* two continuations in a row */
    ANY_LOW = TOO_SHORT | TOO_LONG | TWO_MORE, /* do not depend on the low half */
    LARGE = ANY_LOW | TOO_LARGE | OVERLONG_4,
    CONTINUED = TOO_LONG | OVERLONG_2 | TWO_MORE
};

/* clang-format off */
/* By the high half of the byte before. */
static const char utf8_by_high[16] = {
    TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG,
    (char)TWO_MORE, (char)TWO_MORE, (char)TWO_MORE, (char)TWO_MORE,
    TOO_SHORT | OVERLONG_2, TOO_SHORT, TOO_SHORT | OVERLONG_3 | SURROGATE,
    TOO_SHORT | TOO_LARGE | OVERLONG_4,
};
/* By its low half. */
static const char utf8_by_low[16] = {
    (char)(ANY_LOW | OVERLONG_3 | OVERLONG_2 | OVERLONG_4), (char)(ANY_LOW | OVERLONG_2),
    (char)ANY_LOW, (char)ANY_LOW, (char)(ANY_LOW | TOO_LARGE), (char)LARGE, (char)LARGE, (char)LARGE,
    (char)LARGE, (char)LARGE, (char)LARGE, (char)LARGE, (char)LARGE, (char)(LARGE | SURROGATE),
    (char)LARGE, (char)LARGE,
};
/* The same where surrogates are right. */
static const char utf8_by_low_surrogates[16] = {
    (char)(ANY_LOW | OVERLONG_3 | OVERLONG_2 | OVERLONG_4), (char)(ANY_LOW | OVERLONG_2),
    (char)ANY_LOW, (char)ANY_LOW, (char)(ANY_LOW | TOO_LARGE), (char)LARGE, (char)LARGE, (char)LARGE,
    (char)LARGE, (char)LARGE, (char)LARGE, (char)LARGE, (char)LARGE, (char)LARGE, (char)LARGE,
    (char)LARGE,
};
/* By the high half of the byte itself. */
static const char utf8_by_next[16] = {
    TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
    (char)(CONTINUED | OVERLONG_3 | OVERLONG_4), (char)(CONTINUED | OVERLONG_3 | TOO_LARGE),
    (char)(CONTINUED | SURROGATE | TOO_LARGE), (char)(CONTINUED | SURROGATE | TOO_LARGE),
    TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
};
/* clang-format on */
#endif
