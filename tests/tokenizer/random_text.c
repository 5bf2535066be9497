/* random_text.c - texts that are hard on tokenizers. */
#include "tokenizer/random_text.h"
#include "base/rng.h"
#include "base/utf8.h"

static const char *const parts[] = {
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "\u00A0",
    "\u3000",
    "\u2003",
    "\xC2\x85",
    "'",
    "'s",
    "'ll",
    "'re",
    "'ve",
    "''d",
    "'S",
    "\u017F",
    "the",
    " the",
    "Hello",
    "x",
    "QuX",
    "ing",
    "electroencephalography",
    "0",
    "12",
    " 1234",
    "\u0663",
    "\u00BD",
    "\u2167",
    ".",
    " ,",
    "!!!",
    "(",
    "--",
    "//",
    "é",
    "e\u0301",
    "Straße",
    "日本語",
    " 中",
    "한국",
    "привет",
    "ไทย",
    "\U0001F600",
    "👩‍👩‍👧",
    "\u200D",
    "\uFEFF",
    "<|endoftext|>",
    "<|endof",
    "|>",
    "<|",
    "\u0378",
    "\U000E0001",
    "_",
    "\u2160",
    "ǅ",
    "\u0300",
    "\x7F",
    "\x01",
};
enum { N_PARTS = sizeof parts / sizeof *parts };

void random_text(uint64_t seed, int n_parts, Text *out)
{
    uint64_t key = rng_key(seed, RNG_SAMPLE, 0, 0);
    for (int i = 0; i < n_parts; i++) {
        uint64_t bits = rng_bits(key, (uint64_t)i);
        uint64_t kind = bits % 32, pick = bits >> 8 & 0xFFFF, count = 1 + (bits >> 32) % 3;
        if (kind == 0) count = 1 + (bits >> 32) % 90; /* runs across the block sizes of splitters */
        if (kind == 1) {
            text_putc(out, 0);
        } else if (kind == 2) {
            char c[4];
            uint32_t code = (uint32_t)(bits >> 16) % 0x110000;
            if (code >= 0xD800 && code < 0xE000) code = 'a';
            text_add(out, c, (size_t)utf8_encode(code, c));
        } else {
            for (uint64_t k = 0; k < (kind < 8 ? count : 1); k++)
                text_puts(out, parts[pick % N_PARTS]);
        }
    }
}
