/* hf_save.c - writes what transformers loads: config.json, weights, the tokenizer's files. */
#include "checkpoint/hf_save.h"
#include "base/file.h"
#include "base/json.h"
#include "checkpoint/new_folder.h"
#include <string.h>

static const char *const tokenizer_files[] = { "tokenizer.json",
                                               "tokenizer_config.json",
                                               "special_tokens_map.json",
                                               "added_tokens.json",
                                               "tokenizer.model",
                                               "vocab.json",
                                               "merges.txt",
                                               "chat_template.jinja",
                                               "generation_config.json",
                                               NULL };

static Error *copy_tokenizer(Arena *a, const char *from, const char *to)
{
    for (int i = 0; from && tokenizer_files[i]; i++) {
        Str bytes;
        const char *file = path_join(a, from, tokenizer_files[i]);
        if (!file_exists(file)) continue;
        TRY(file_read(a, file, &bytes));
        TRY(file_write(path_join(a, to, tokenizer_files[i]), bytes.ptr, bytes.len));
    }
    return NULL;
}

/* transformers wants to be told that the tensors are torch's. */
static Error *write_file(Arena *a, const char *path, const NamedTensor *tensor, int64_t n)
{
    SafetensorsWriter *w;
    Map *metadata = map_new(a);
    map_set(metadata, str_of("format"), (char *)"pt");
    TRY(safetensors_create(a, path, tensor, n, metadata, &w));
    Error *e = NULL;
    for (int64_t i = 0; !e && i < n; i++)
        e = safetensors_put(w, i, tensor[i].tensor.data, tensor_bytes(&tensor[i].tensor));
    if (!e) e = safetensors_commit(w);
    if (e) safetensors_abandon(w);
    return e;
}

/* The tensors [from, result) fit into one file; at least one does. */
static int64_t shard_end(const HfFolder *f, int64_t from)
{
    const size_t most = f->shard_bytes ? (size_t)f->shard_bytes : (size_t)HF_SHARD_MB * 1000 * 1000;
    size_t bytes = 0;
    for (int64_t i = from; i < f->n; i++) {
        bytes += tensor_bytes(&f->tensor[i].tensor);
        if (bytes > most && i > from) return i;
    }
    return f->n;
}

static Error *write_shards(Arena *a, const HfFolder *f, const char *folder, int64_t n_shards)
{
    Text index = { 0 };
    size_t total = 0;
    int64_t shard = 0;
    Error *e = NULL;
    for (int64_t i = 0; i < f->n; i++) total += tensor_bytes(&f->tensor[i].tensor);
    text_printf(&index, "{\n  \"metadata\": {\"total_size\": %zu},\n  \"weight_map\": {", total);
    for (int64_t from = 0, to; !e && from < f->n; from = to) {
        const char *name = arena_printf(a, "model-%05lld-of-%05lld.safetensors", (long long)++shard,
                                        (long long)n_shards);
        to = shard_end(f, from);
        e = write_file(a, path_join(a, folder, name), f->tensor + from, to - from);
        for (int64_t i = from; i < to; i++) {
            text_puts(&index, i ? ",\n    " : "\n    ");
            text_json_string(&index, str_of(f->tensor[i].name));
            text_printf(&index, ": \"%s\"", name);
        }
    }
    text_puts(&index, "\n  }\n}\n");
    if (!e)
        e = file_write(path_join(a, folder, "model.safetensors.index.json"), index.ptr, index.len);
    text_free(&index);
    return e;
}

static Error *write_all(Arena *a, const HfFolder *f, const char *folder)
{
    int64_t n_shards = 0;
    for (int64_t at = 0; at < f->n; at = shard_end(f, at)) n_shards++;
    TRY(file_write(path_join(a, folder, "config.json"), f->config, strlen(f->config)));
    TRY(copy_tokenizer(a, f->tokenizer, folder));
    if (n_shards > 1) return write_shards(a, f, folder, n_shards);
    return write_file(a, path_join(a, folder, "model.safetensors"), f->tensor, f->n);
}

Error *hf_save(Arena *a, const HfFolder *f)
{
    NewFolder folder;
    if (file_exists(f->path))
        return error_new("%s is there already; a Hugging Face folder is written anew", f->path);
    TRY(folder_create(a, f->path, &folder));
    Error *e = write_all(a, f, folder.temporary);
    if (!e) e = folder_commit(&folder);
    if (e) folder_abandon(&folder);
    return e;
}
