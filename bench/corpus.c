/* corpus.c - a file of JSON lines in a folder, its bytes in memory, and what is made of it. */
#include "corpus.h"
#include "base/file.h"
#include "base/json_scan.h"
#include "data/jsonl.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

/* Lines that have a text: finding the number of a bad line takes time, too. */
static void read_good_lines(const Corpus *c, const char *path, Text *out)
{
    TextInput input;
    Jsonl j;
    IndexEntry entry;
    Text one = { 0 };
    const Str key = str_of("text");
    die(text_input_open(c->arena, path, c->path, &input));
    die(jsonl_open_text(c->arena, &input, NULL, &j));
    while (jsonl_next(&j, &entry)) {
        Str line;
        JsonFound found;
        JsonFault fault;
        die(jsonl_line(&j, entry, &line));
        if (!json_find(line, &key, 1, &one, &found, &fault) || !one.len) continue;
        text_add(out, line.ptr, line.len);
        text_putc(out, '\n');
    }
    text_free(&one);
}

static void write_lines(const Corpus *c, const char *text_path, int64_t n_bytes)
{
    Text text = { 0 };
    NewFile file;
    read_good_lines(c, text_path, &text);
    if (!text.len) exit(1);
    die(file_create(c->path, &file));
    for (int64_t done = 0; done < n_bytes; done += (int64_t)text.len)
        fwrite(text.ptr, 1, text.len, file.stream);
    die(file_commit(&file));
    text_free(&text);
}

const char *corpus_folder(Arena *a, const char *in)
{
    char *own = arena_printf(a, "%s/modalities-bench.XXXXXX", in);
    if (!mkdtemp(own)) exit(1);
    return own;
}

/* So that the page cache holds the file as one that was read from there. */
static void forget_file(const char *path)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)) exit(1);
    close(fd);
}

static Str copy_to_memory(Str s)
{
    char *p = mmap(NULL, s.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) exit(1);
    madvise(p, s.len, MADV_HUGEPAGE);
    memcpy(p, s.ptr, s.len);
    return (Str){ p, s.len };
}

static void read_texts(Corpus *c)
{
    Jsonl j;
    TextInput input = { .path = c->path, .text = c->memory };
    const Str key = str_of("text");
    die(jsonl_open_text(c->arena, &input, NULL, &j));
    IndexEntry entry;
    Text all = { 0 }, one = { 0 };
    for (int pass = 0; pass < 2; pass++) { /* count, then cut */
        if (pass) c->text = NEW_N(c->arena, Str, c->n_texts);
        if (pass) c->line = NEW_N(c->arena, Str, c->n_texts);
        Str rest = pass ? copy_to_memory((Str){ all.ptr, all.len }) : (Str){ 0 };
        c->n_texts = 0;
        for (j.at = 0; jsonl_next(&j, &entry); c->n_texts++) {
            Str line;
            JsonFound found;
            JsonFault fault;
            die(jsonl_line(&j, entry, &line));
            if (!json_find(line, &key, 1, &one, &found, &fault)) exit(1);
            if (!pass) text_add(&all, one.ptr, one.len);
            if (!pass) continue;
            c->line[c->n_texts] = line;
            c->text[c->n_texts] = (Str){ rest.ptr, one.len };
            rest.ptr += one.len;
        }
    }
    c->n_text_bytes = (int64_t)all.len;
    text_free(&all);
    text_free(&one);
}

void corpus_fill(Corpus *c, const char *text_path, int64_t n_bytes)
{
    Str file;
    write_lines(c, text_path, n_bytes);
    forget_file(c->path);
    die(file_view_forward(c->arena, c->path, &file));
    c->memory = copy_to_memory(file);
    read_texts(c);
}

void corpus_compress(Corpus *c)
{
    size_t half = c->memory.len / 2;
    const char *text = c->memory.ptr, *newline = memrchr(text, '\n', half);
    c->compressed = path_join(c->arena, c->folder, "text.jsonl.gz");
    c->n_compressed = newline ? newline + 1 - text : (int64_t)c->memory.len;
    gzFile f = gzopen(c->compressed, "wb1");
    if (!f || gzwrite(f, text, (unsigned)c->n_compressed) != c->n_compressed) exit(1);
    gzclose(f);
}

Dataset *corpus_on_the_fly(const Corpus *c, int64_t sequence_length)
{
    Dataset *d;
    JsonlOnTheFly s = { .raw_data_path = c->path,
                        .index_path = path_join(c->arena, c->folder, "text.idx"),
                        .counts_path = path_join(c->arena, c->folder, "text.counts"),
                        .tokenizer = c->tokenizer,
                        .jq_pattern = ".text",
                        .eod_token = c->eod,
                        .sample_key = "x",
                        .sequence_length = sequence_length,
                        .reuse_last_target = true,
                        .on_bad_line = BAD_LINE_SKIP };
    die(jsonl_on_the_fly_open(c->arena, &s, &d));
    return d;
}

PackSettings corpus_pack_settings(const Corpus *c)
{
    return (PackSettings){ .src_path = c->path,
                           .index_path = path_join(c->arena, c->folder, "text.idx"),
                           .dst_path = path_join(c->arena, c->folder, "text.pbin"),
                           .jq_pattern = ".text",
                           .eod_token = c->eod,
                           .num_cpus = c->n_threads,
                           .processing_batch_size = 64,
                           .raw_samples_queue_size = 16,
                           .processed_samples_queue_size = 16,
                           .on_bad_line = BAD_LINE_SKIP };
}
