/* unicode_tables.c - writes src/tokenizer/text/unicode_tables.c from the character classes and
 * mappings that the tokenizers library uses.
 *
 *   cc -o build/unicode_tables tools/unicode_tables.c -lutf8proc
 *   build/unicode_tables ../shared/data/goldens/tokenizers/unicode scripts.rs >
 * src/tokenizer/text/unicode_tables.c
 *
 * The folder holds what tokenizers 0.22.2 does to every single character: classes.tsv has one class
 * per line (name, number of code points, ranges in hexadecimal), NFD.tsv and others map a code
 * point to its result. Its components know different versions of Unicode: regular expressions 16,
 * Digits and Lowercase 17, normal forms 11, punctuation an older one; the tables follow each.
 * scripts.rs is the library's table of scripts (tokenizers/src/pre_tokenizers/unicode_scripts), of
 * which the lines `0x0041..=0x005A => Script::Latin,` are read. Combining classes come from
 * utf8proc, for the marks that the library knows; they never change once assigned. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

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

enum { ACCENT_BIT = 6, NONSPACING_BIT = 7 };
static const Flag flags[] = {
    { { "split_regex:\\p{L}" }, NULL },
    { { "split_regex:\\p{N}" }, NULL },
    { { "split_regex:\\s" }, NULL },
    { { "split_regex:\\p{L}", "split_regex:\\p{M}", "split_regex:\\d" }, more_word },
    { { "Punctuation:punctuation" }, NULL },
    { { "Digits:numeric" }, NULL },
    { { "StripAccents:removed" }, NULL },
    /* NONSPACING_BIT is set by what BertNormalizer_strip_accents.tsv removes. */
};
enum { N_FLAGS = sizeof flags / sizeof *flags };

/* Classes that are needed as ranges: those of regular expressions, and what BERT's clean_text
 * removes. */
static const char *const listed[] = { "BertNormalizer_clean:removed", "split_regex:" };

static uint8_t code[N_CODES], combining[N_CODES], script[N_CODES], unstable[N_CODES];

static _Noreturn void fail(const char *what, const char *where)
{
    fprintf(stderr, "%s: %s\n", where, what);
    exit(1);
}

static FILE *open_in(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *in = fopen(path, "r");
    if (!in) fail("cannot be opened", path);
    return in;
}

static void mark(uint32_t first, uint32_t last, int bit)
{
    for (uint32_t c = first; c <= last && c < N_CODES; c++) code[c] |= (uint8_t)(1 << bit);
}

/* Reads "0041-005A 00AA"; returns false at the end. */
static int next_range(char **p, Range *out)
{
    while (**p == ' ' || **p == '\n') ++*p;
    if (!**p) return 0;
    out->first = out->last = (uint32_t)strtoul(*p, p, 16);
    if (**p == '-') out->last = (uint32_t)strtoul(*p + 1, p, 16);
    return 1;
}

static int flag_class(const char *name, char *ranges)
{
    int seen = 0;
    for (int bit = 0; bit < N_FLAGS; bit++) {
        for (int k = 0; k < 4 && flags[bit].classes[k]; k++) {
            if (strcmp(flags[bit].classes[k], name)) continue;
            Range r;
            for (char *p = ranges; next_range(&p, &r);) mark(r.first, r.last, bit);
            seen++;
        }
    }
    return seen;
}

/* The classes of `listed`, as arrays; their table is printed later. */
static char listed_names[64][64];
static int n_listed;

static void list_class(const char *name, char *ranges)
{
    int wanted = 0;
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
        wanted |= !strncmp(name, listed[i], strlen(listed[i]));
    if (!wanted) return;
    const char *colon = strchr(name, ':');
    const char *shown = strncmp(name, "split", 5) ? name : colon + 1;
    printf("static const CodeRange class_%d[] = {", n_listed);
    Range r;
    int n = 0;
    for (char *p = ranges; next_range(&p, &r); n++)
        printf("%s{0x%X,0x%X},", n % 6 ? "" : "\n", r.first, r.last);
    printf("\n};\n");
    snprintf(listed_names[n_listed++], 64, "%s", shown);
}

static void read_classes(const char *folder)
{
    FILE *in = open_in(folder, "classes.tsv");
    char *line = NULL;
    size_t cap = 0;
    int seen = 0, wanted = 0;
    while (getline(&line, &cap, in) > 0) {
        char *name = strtok(line, "\t"), *count = strtok(NULL, "\t"), *ranges = strtok(NULL, "\t");
        if (!name || !count || !ranges) continue;
        seen += flag_class(name, ranges);
        list_class(name, ranges);
    }
    for (int bit = 0; bit < N_FLAGS; bit++) {
        for (int k = 0; k < 4 && flags[bit].classes[k]; k++) wanted++;
        for (const Range *r = flags[bit].more; r && r->last; r++) mark(r->first, r->last, bit);
    }
    if (seen != wanted) fail("classes are missing", folder);
    printf("const UnicodeClass unicode_class[] = {\n");
    for (int i = 0; i < n_listed; i++) {
        printf("{\"");
        for (const char *p = listed_names[i]; *p; p++) printf(*p == '\\' ? "\\\\" : "%c", *p);
        printf("\", class_%d, sizeof class_%d / sizeof *class_%d},\n", i, i, i);
    }
    printf("{0}\n};\n\n");
    free(line);
    fclose(in);
}

enum { MAX_RESULT = 20, MAX_MAPPED = 8192 };
typedef struct Mapping {
    uint32_t from, to[MAX_RESULT];
    int n;
} Mapping;

static int read_map(const char *folder, const char *name, Mapping *map)
{
    FILE *in = open_in(folder, name);
    char *line = NULL;
    size_t cap = 0;
    int n = 0;
    while (getline(&line, &cap, in) > 0) {
        char *p;
        Mapping *m = &map[n];
        m->from = (uint32_t)strtoul(line, &p, 16);
        if (p == line || *p != '\t') continue;
        for (m->n = 0; p++, *p && *p != '\n'; m->n++) m->to[m->n] = (uint32_t)strtoul(p, &p, 16);
        if (++n == MAX_MAPPED) fail("has too many lines", name);
    }
    free(line);
    fclose(in);
    return n;
}

/* code points, and for each page the first entry; results as code points behind one another */
static void print_map(const char *name, const Mapping *map, int n)
{
    int at = 0;
    printf("static const uint32_t %s_results[] = {", name);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < map[i].n; k++, at++)
            printf("%s0x%X,", at % 16 ? "" : "\n", map[i].to[k]);
    }
    printf("\n};\nstatic const UnicodeMapping %s_from[] = {", name);
    at = 0;
    for (int i = 0; i < n; at += map[i++].n)
        printf("%s{0x%X,%d},", i % 8 ? "" : "\n", map[i].from, at);
    printf("\n{0x110000,%d}};\nstatic const uint16_t %s_page[] = {", at, name);
    for (int page = 0, i = 0; page <= N_PAGES; page++) {
        while (i < n && map[i].from < (uint32_t)page * PAGE) i++;
        printf("%s%d,", page % 32 ? "" : "\n", i);
    }
    printf("\n};\nconst UnicodeMap unicode_%s = {%s_from, %s_page, %s_results};\n\n", name, name,
           name, name);
}

static int by_pair(const void *x, const void *y)
{
    const Mapping *a = x, *b = y;
    return a->to[0] != b->to[0] ? (a->to[0] > b->to[0] ? 1 : -1)
                                : (a->to[1] > b->to[1]) - (a->to[1] < b->to[1]);
}

/* A character whose NFC is itself is composed of what its decomposition without the last character
 * composes to, and that character. */
static void print_pairs(const Mapping *nfd, int n, const Mapping *nfc, int n_nfc)
{
    static Mapping pair[MAX_MAPPED];
    int n_pairs = 0;
    for (int i = 0; i < n; i++) {
        int excluded = nfd[i].n < 2;
        for (int k = 0; k < n_nfc; k++) excluded |= nfc[k].from == nfd[i].from;
        if (excluded) continue;
        uint32_t first = nfd[i].to[0];
        for (int k = 0; k < n && nfd[i].n > 2; k++) {
            int composed = 1;
            for (int j = 0; j < n_nfc; j++) composed &= nfc[j].from != nfd[k].from;
            if (composed && nfd[k].n == nfd[i].n - 1 &&
                !memcmp(nfd[k].to, nfd[i].to, (size_t)nfd[k].n * sizeof *nfd[k].to))
                first = nfd[k].from;
        }
        if (nfd[i].n > 2 && first == nfd[i].to[0]) fail("no shorter composition", "NFD.tsv");
        pair[n_pairs++] = (Mapping){ nfd[i].from, { first, nfd[i].to[nfd[i].n - 1] }, 2 };
    }
    qsort(pair, (size_t)n_pairs, sizeof *pair, by_pair);
    printf("const UnicodePair unicode_pair[] = {");
    for (int i = 0; i < n_pairs; i++)
        printf("%s{0x%X,0x%X,0x%X},", i % 5 ? "" : "\n", pair[i].to[0], pair[i].to[1],
               pair[i].from);
    printf("\n};\nconst int unicode_n_pairs = %d;\n\n", n_pairs);
}

/* Which characters a normal form may change, move, or join to the one before: bit 0 NFD, 1 NFKD, 2
 * NFC, 3 NFKC. */
static void mark_changed(const Mapping *map, int n, int bit)
{
    for (int i = 0; i < n; i++) unstable[map[i].from] |= (uint8_t)(1 << bit);
}

static void mark_unstable(const Mapping *nfd, int n_nfd)
{
    enum { HANGUL = 0xAC00, LAST_HANGUL = 0xD7A3, VOWEL = 0x1161, LAST_TRAILING = 0x11C2 };
    for (uint32_t c = HANGUL; c <= LAST_HANGUL; c++) unstable[c] |= 3;
    for (uint32_t c = VOWEL; c <= LAST_TRAILING; c++) unstable[c] |= 12;
    for (int i = 0; i < n_nfd; i++) {
        for (int k = 1; k < nfd[i].n; k++) unstable[nfd[i].to[k]] |= 12;
    }
    for (uint32_t c = 0; c < N_CODES; c++) {
        if (combining[c]) unstable[c] |= 15;
    }
}

static void read_scripts(const char *path)
{
    static char names[256][64];
    FILE *in = fopen(path, "r");
    if (!in) fail("cannot be opened", path);
    char *line = NULL;
    size_t cap = 0;
    int n = 1, n_lines = 0; /* 0: in no script */
    while (getline(&line, &cap, in) > 0) {
        unsigned first, last;
        char name[64];
        int two = sscanf(line, " 0x%x..=0x%x => Script::%63[A-Za-z]", &first, &last, name) == 3;
        if (!two && sscanf(line, " 0x%x => Script::%63[A-Za-z]", &first, name) != 2) continue;
        if (!two) last = first;
        int k = 1;
        while (k < n && strcmp(names[k], name)) k++;
        if (k == n) strcpy(names[n++], name);
        if (n == 256) fail("has too many scripts", path);
        for (unsigned c = first; c <= last && c < N_CODES; c++) script[c] = (uint8_t)k;
        n_lines++;
    }
    if (n_lines < 1000) fail("is no scripts.rs", path);
    int han = 0, common = 0;
    for (int k = 1; k < n; k++) {
        if (!strcmp(names[k], "Han")) han = k;
        common |= !strcmp(names[k], "Common");
    }
    if (!han || !common) fail("lacks Han or Common", path);
    /* UnicodeScripts takes kana for Han, and the blank for part of any script. */
    for (unsigned c = 0; c < N_CODES; c++) {
        const char *name = names[script[c]];
        if (!strcmp(name, "Hiragana") || !strcmp(name, "Katakana")) script[c] = (uint8_t)han;
    }
    script[0x30FC] = (uint8_t)han;
    free(line);
    fclose(in);
}

/* A table of bytes by code point, in pages of which equal ones are stored once. */
static void print_pages(const char *page_name, const char *values_name, const uint8_t *value)
{
    static uint8_t page[N_PAGES];
    static uint32_t kept[N_PAGES];
    int n = 0;
    for (int g = 0; g < N_PAGES; g++) {
        int k = 0;
        while (k < n && memcmp(value + kept[k], value + g * PAGE, PAGE)) k++;
        if (k == n) kept[n++] = (uint32_t)g * PAGE;
        page[g] = (uint8_t)k;
    }
    if (n > 256) fail("more different pages than a byte can number", values_name);
    printf("const uint8_t %s[0x%X] = {", page_name, N_PAGES);
    for (int g = 0; g < N_PAGES; g++) printf("%s%d,", g % 32 ? "" : "\n", page[g]);
    printf("\n};\n\nconst uint8_t %s[%d][%d] = {", values_name, n, PAGE);
    for (int k = 0; k < n; k++) {
        printf("\n{");
        for (int i = 0; i < PAGE; i++)
            printf("%s%d,", i % 64 || !i ? "" : "\n", value[kept[k] + (uint32_t)i]);
        printf("},");
    }
    printf("\n};\n\n");
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        return fprintf(stderr, "usage: unicode_tables FOLDER scripts.rs > unicode_tables.c\n"), 2;
    }
    printf("/* unicode_tables.c - classes and mappings of characters, written by "
           "tools/unicode_tables.c.\n"
           " *\n"
           " * Source: what tokenizers 0.22.2 does to every character; regular expressions know\n"
           " * Unicode 16, Digits and Lowercase 17, normal forms 11. */\n"
           "#include \"tokenizer/text/unicode.h\"\n\n/* clang-format off */\n");
    read_classes(argv[1]);
    static Mapping nfd[MAX_MAPPED], nfc[MAX_MAPPED], map[MAX_MAPPED];
    int n = read_map(argv[1], "BertNormalizer_strip_accents.tsv", map);
    for (int i = 0; i < n; i++) {
        if (!map[i].n) mark(map[i].from, map[i].from, NONSPACING_BIT);
    }
    print_map("lowercase", map, read_map(argv[1], "Lowercase.tsv", map));
    n = read_map(argv[1], "NFKC.tsv", map);
    mark_changed(map, n, 3);
    n = read_map(argv[1], "NFKD.tsv", map);
    mark_changed(map, n, 1);
    print_map("nfkd", map, n);
    int n_nfd = read_map(argv[1], "NFD.tsv", nfd), n_nfc = read_map(argv[1], "NFC.tsv", nfc);
    mark_changed(nfd, n_nfd, 0);
    mark_changed(nfc, n_nfc, 2);
    print_map("nfd", nfd, n_nfd);
    print_pairs(nfd, n_nfd, nfc, n_nfc);
    for (uint32_t c = 0; c < N_CODES; c++) {
        if (code[c] >> ACCENT_BIT & 1)
            combining[c] = (uint8_t)utf8proc_get_property((utf8proc_int32_t)c)->combining_class;
    }
    mark_unstable(nfd, n_nfd);
    read_scripts(argv[2]);
    print_pages("unicode_page", "unicode_page_flags", code);
    print_pages("unicode_combining_page", "unicode_page_combining", combining);
    print_pages("unicode_unstable_page", "unicode_page_unstable", unstable);
    print_pages("unicode_script_page", "unicode_page_script", script);
    printf("/* clang-format on */\n");
    return 0;
}
