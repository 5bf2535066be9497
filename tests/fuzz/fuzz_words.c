/* fuzz_words.c - any text cut into words: the splitters of each instruction set find the matches of
 * their patterns, as PCRE2 finds them.
 *
 * An input is a byte that chooses the pattern, one that chooses where in a block of 64 bytes the
 * text starts, and the text, which ends before its first byte that is no UTF-8. */
#include "base/utf8.h"
#include "fuzz.h"
#include "tokenizer/pretokenize/cl100k.h"
#include "tokenizer/regex/regex.h"
#include <string.h>

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define OTHERS "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const struct {
    const char *pattern;
    WordSplitter *split[3]; /* by CpuLevel */
} kinds[] = {
    { "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
      { SPLITTER_VERSIONS(split_gpt2) } },
    { CONTRACTIONS "\\p{N}{1,3}" OTHERS, { SPLITTER_VERSIONS(split_cl100k) } },
    { CONTRACTIONS "\\p{N}" OTHERS, { SPLITTER_VERSIONS(split_qwen2) } },
};
enum { N_KINDS = sizeof kinds / sizeof *kinds, LONGEST = 4096 };

/* The AVX-512 versions compress bytes, which not every CPU of that level does. */
static bool runs(int level)
{
#if defined(__x86_64__)
    if (level == CPU_AVX512 && !__builtin_cpu_supports("avx512vbmi2")) return false;
#endif
    return level <= (int)cpu_level_available();
}

static void compare(const Regex *r, WordSplitter *split, Str text)
{
    static RegexRoom room;
    uint32_t end[SPLIT_ROOM], len = (uint32_t)text.len;
    int64_t n = split(text.ptr, len, 0, len, end);
    RegexSearch search = { 0 };
    RegexMatch m;
    for (int64_t i = 0; i < n; i++) {
        bool found;
        CHECK(!regex_next(r, &room, text, &search, &m, &found));
        CHECK(found && m.from == (i ? end[i - 1] : 0) && m.to == end[i]);
    }
    CHECK(end[n - 1] == len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const Regex *regex[N_KINDS];
    static Arena *kept; /* patterns take long to compile */
    if (!kept) kept = arena_new();
    if (size < 3) return 0;
    int kind = data[0] % N_KINDS;
    Str text = { (const char *)data + 2, size - 2 < LONGEST ? size - 2 : LONGEST };
    text.len = utf8_valid_length(text);
    if (!text.len) return 0;
    if (!regex[kind])
        CHECK(!regex_new(kept, str_of(kinds[kind].pattern), REGEX_ONIGURUMA, &regex[kind]));
    char block[LONGEST + 4 * SPLIT_SLACK];
    memset(block, 0xFF, sizeof block);
    char *at = block + SPLIT_SLACK + data[1] % 64;
    memcpy(at, text.ptr, text.len);
    for (int level = CPU_SCALAR; level <= CPU_AVX512; level++)
        if (runs(level)) compare(regex[kind], kinds[kind].split[level], (Str){ at, text.len });
    return 0;
}
