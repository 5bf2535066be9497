/* tokenizer_open.c - tells the kinds of tokenizer files apart by their content. */
#include "base/file.h"
#include "base/utf8.h"
#include "tokenizer/hf/hf_tokenizer.h"
#include "tokenizer/hf/tiktoken.h"
#include "tokenizer/sentencepiece/sentencepiece.h"
#include <string.h>

/* The file that stands for a folder. */
static const char *file_of(Arena *a, const char *path)
{
    if (!is_directory(path)) return path;
    const char *model = path_join(a, path, "tokenizer.model"), *json = hf_tokenizer_path(a, path);
    return file_exists(model) && !file_exists(json) ? model : json;
}

static Error *read_start(const char *file, char *start, size_t size, size_t *n)
{
    FileMap map;
    TRY(file_map(file, &map));
    *n = map.len < size ? map.len : size;
    memcpy(start, map.ptr, *n);
    file_unmap(&map);
    return NULL;
}

static Error *open_file(const char *file, const char *pattern, Tokenizer **out)
{
    char start[256];
    size_t n;
    TRY(read_start(file, start, sizeof start, &n));
    if (sentencepiece_looks_like((Str){ start, n })) return sentencepiece_open(file, NULL, out);
    TiktokenOptions options = { .pattern = pattern };
    if (tiktoken_looks_like((Str){ start, n })) return tiktoken_open(file, &options, out);
    return hf_tokenizer_open(file, out);
}

Error *tokenizer_open(const char *path, Tokenizer **out)
{
    return tokenizer_open_with_pattern(path, NULL, out);
}

Error *tokenizer_open_with_pattern(const char *path, const char *tiktoken_pattern, Tokenizer **out)
{
    Arena *scratch = arena_new();
    Error *e = open_file(file_of(scratch, path), tiktoken_pattern, out);
    arena_free(scratch);
    return e;
}

Error *tokenizer_check_text(Str text)
{
    if (text.len >= UINT32_MAX) {
        return error_new("a text of %zu bytes is too long (at most %u)", text.len, UINT32_MAX - 1);
    }
    size_t valid = utf8_valid_length(text);
    if (valid == text.len) return NULL;
    return error_new("byte %zu (0x%02X) of the text is no UTF-8", valid,
                     (unsigned char)text.ptr[valid]);
}
