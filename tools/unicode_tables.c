/* unicode_tables.c - writes src/tokenizer/unicode_tables.c from the character classes that the
 * tokenizers library uses.
 *
 *   cc -o build/unicode_tables tools/unicode_tables.c
 *   build/unicode_tables ../shared/data/goldens/tokenizers/unicode/classes.tsv >
 * src/tokenizer/unicode_tables.c
 *
 * The input has one class per line: name, number of code points, ranges in hexadecimal. Its classes
 * `split_regex:` were taken from tokenizers 0.22.2, whose regular expressions know Unicode 16. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_CODES = 0x110000, PAGE = 256, N_PAGES = N_CODES / PAGE };

typedef struct Range {
    uint32_t first, last;
} Range;

/* What makes a word character beside letters, marks and decimal digits (UTS 18, annex C): letter
 * numbers (Nl), connectors (Pc), joiners, and the circled letters that are Alphabetic. Unicode 16.
 */
static const Range more_word[] = {
    { 0x5F, 0x5F },       { 0x16EE, 0x16F0 },   { 0x200C, 0x200D },   { 0x203F, 0x2040 },
    { 0x2054, 0x2054 },   { 0x2160, 0x2182 },   { 0x2185, 0x2188 },   { 0x24B6, 0x24E9 },
    { 0x3007, 0x3007 },   { 0x3021, 0x3029 },   { 0x3038, 0x303A },   { 0xA6E6, 0xA6EF },
    { 0xFE33, 0xFE34 },   { 0xFE4D, 0xFE4F },   { 0xFF3F, 0xFF3F },   { 0x10140, 0x10174 },
    { 0x10341, 0x10341 }, { 0x1034A, 0x1034A }, { 0x103D1, 0x103D5 }, { 0x12400, 0x1246E },
    { 0x1F130, 0x1F149 }, { 0x1F150, 0x1F169 }, { 0x1F170, 0x1F189 }, { 0, 0 },
};

/* One bit of unicode_flags, by the bit's number: the classes whose members have it. */
typedef struct Flag {
    const char *classes[4];
    const Range *more;
} Flag;

static const Flag flags[] = {
    { { "split_regex:\\p{L}" }, NULL },
    { { "split_regex:\\p{N}" }, NULL },
    { { "split_regex:\\s" }, NULL },
    { { "split_regex:\\p{L}", "split_regex:\\p{M}", "split_regex:\\d" }, more_word },
};
enum { N_FLAGS = sizeof flags / sizeof *flags };

static uint8_t code[N_CODES];

static void mark(uint32_t first, uint32_t last, int bit)
{
    for (uint32_t c = first; c <= last && c < N_CODES; c++) code[c] |= (uint8_t)(1 << bit);
}

static void mark_class(const char *name, const char *ranges, int *seen)
{
    for (int bit = 0; bit < N_FLAGS; bit++) {
        for (int k = 0; k < 4 && flags[bit].classes[k]; k++) {
            if (strcmp(flags[bit].classes[k], name)) continue;
            ++*seen;
            for (char *p = (char *)ranges; *p;) {
                uint32_t first = (uint32_t)strtoul(p, &p, 16), last = first;
                if (*p == '-') last = (uint32_t)strtoul(p + 1, &p, 16);
                mark(first, last, bit);
                while (*p == ' ' || *p == '\n') p++;
            }
        }
    }
}

int main(int argc, char **argv)
{
    FILE *in = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!in) return fprintf(stderr, "usage: unicode_tables classes.tsv > unicode_tables.c\n"), 2;
    char *line = NULL;
    size_t cap = 0;
    int seen = 0, wanted = 0;
    while (getline(&line, &cap, in) > 0) {
        char *name = strtok(line, "\t"), *count = strtok(NULL, "\t"), *ranges = strtok(NULL, "\t");
        if (name && count && ranges) mark_class(name, ranges, &seen);
    }
    for (int bit = 0; bit < N_FLAGS; bit++) {
        for (int k = 0; k < 4 && flags[bit].classes[k]; k++) wanted++;
        for (const Range *r = flags[bit].more; r && r->last; r++) mark(r->first, r->last, bit);
    }
    if (seen != wanted)
        return fprintf(stderr, "%s: %d of %d classes found\n", argv[1], seen, wanted), 1;

    static uint8_t page[N_PAGES];
    static uint32_t kept[N_PAGES];
    int n = 0;
    for (int g = 0; g < N_PAGES; g++) {
        int k = 0;
        while (k < n && memcmp(code + kept[k], code + g * PAGE, PAGE)) k++;
        if (k == n) kept[n++] = (uint32_t)g * PAGE;
        page[g] = (uint8_t)k;
    }
    if (n > 256) return fprintf(stderr, "%d different pages: more than a byte can number\n", n), 1;

    printf("/* unicode_tables.c - flags of every code point, written by tools/unicode_tables.c.\n"
           " *\n"
           " * Source: the character classes of tokenizers 0.22.2 (Unicode 16). */\n"
           "#include \"tokenizer/unicode.h\"\n\n/* clang-format off */\n"
           "const uint8_t unicode_page[0x%X] = {",
           N_PAGES);
    for (int g = 0; g < N_PAGES; g++) printf("%s%d,", g % 32 ? "" : "\n", page[g]);
    printf("\n};\n\nconst uint8_t unicode_page_flags[%d][%d] = {", n, PAGE);
    for (int k = 0; k < n; k++) {
        printf("\n{");
        for (int i = 0; i < PAGE; i++)
            printf("%s%d,", i % 64 || !i ? "" : "\n", code[kept[k] + (uint32_t)i]);
        printf("},");
    }
    printf("\n};\n/* clang-format on */\n");
    return 0;
}
