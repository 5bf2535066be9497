/* instruction.c - conversations to texts with all cores, shared out in the order of the lines.
 *
 * Lines are rendered in blocks by whichever thread is free; the draws, the outputs and the bad
 * lines then follow the order of the file. */
#include "data/instruction.h"
#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "base/signal.h"
#include "base/thread.h"
#include "config/yaml_emit.h"
#include "data/bad_lines.h"
#include "data/conversation.h"
#include "data/progress.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_HASH_DIGITS = 7, BLOCK_BYTES = 1 << 16, MOST_BLOCK_LINES = 256, BLOCKS_PER_THREAD = 8 };

/* The numbers of a finished part. */
enum { LINES, OFFSET, BAD, PARTITION_LINES };

/* A rendered line: its bytes in the block's text, or why there are none. */
typedef struct Rendered {
    Str line;
    size_t n_bytes;
    Error *error;
    int64_t column;
} Rendered;

/* Consecutive lines. */
typedef struct InputBlock {
    Str lines;
    Rendered rendered[MOST_BLOCK_LINES];
    int n_rendered;
    Text text;
} InputBlock;

typedef struct Conversion {
    const InstructionConfig *config;
    const Template *template;
    Str source;
    int64_t offset; /* of the source: what is done */
    InputBlock *block;
    Conversation *conversation; /* per thread */
    Resumable *file;
    int stream[N_PARTITIONS]; /* -1: not wanted */
    Mt19937 draws;
    BadLines bad;
    InstructionSummary summary;
} Conversion;

/* ---- names ---- */

/* All suffixes of a file's name, as pathlib has them: ".tar.gz"; a leading dot begins none. */
static const char *all_suffixes(const char *name)
{
    while (*name == '.') name++;
    const char *dot = strchr(name, '.');
    return dot && dot[1] ? dot : "";
}

static const char *stem_of(Arena *a, const char *path)
{
    return path_name(path_with_suffix(a, path, ""));
}

/* Of the configuration; a part of all names. */
static Error *hash_file(const char *config_path, Str *bytes, Arena *a, char hash[65])
{
    TRY(file_read(a, config_path, bytes));
    sha256_hex(bytes->ptr, bytes->len, hash);
    hash[N_HASH_DIGITS] = 0;
    return NULL;
}

static const char *copy_path(Arena *a, const InstructionSummary *s, const char *hash)
{
    return path_join(a, s->folder,
                     arena_printf(a, "instruction_chat_template_config.%s.yaml", hash));
}

static void name_outputs(Arena *a, const InstructionSettings *s, const char *hash,
                         InstructionSummary *out)
{
    static const char *const name[] = { "train", "val", "test" };
    const SplitShares *p = &s->split_config->splitting;
    const int64_t percentage[] = { p->train, p->val, p->test };
    const char *folder = arena_printf(a, "%s_%s", stem_of(a, s->src_path), hash);
    bool has_parent = strchr(s->dst_path, '/');
    out->folder = has_parent ? path_join(a, path_folder(a, s->dst_path), folder) : folder;
    for (int i = 0; i < N_PARTITIONS; i++) {
        const char *file = arena_printf(a, "%s_%s.%s%s", stem_of(a, s->dst_path), name[i], hash,
                                        all_suffixes(path_name(s->dst_path)));
        Partition *x = &out->partition[i];
        *x = (Partition){ .name = name[i],
                          .jsonl_path = path_join(a, out->folder, file),
                          .is_wanted = percentage[i] > 0 };
        x->index_path = path_with_suffix(a, x->jsonl_path, ".idx");
        x->pbin_path = path_with_suffix(a, x->jsonl_path, ".pbin");
        x->pack_config_path =
            path_join(a, out->folder, arena_printf(a, "pbin_config_%s.%s.yaml", name[i], hash));
    }
}

/* ---- blocks of lines ---- */

static Str first_line(Str text)
{
    const char *newline = memchr(text.ptr, '\n', text.len);
    return (Str){ text.ptr, newline ? (size_t)(newline - text.ptr) : text.len };
}

/* After a line and its newline, if it has one. */
static Str rest_behind(Str text, Str line)
{
    size_t n = line.len + (line.len < text.len);
    return (Str){ text.ptr + n, text.len - n };
}

/* Takes whole lines from the beginning of `rest`. */
static void fill_block(InputBlock *b, Str *rest)
{
    b->lines = (Str){ rest->ptr, 0 };
    for (int n = 0; rest->len && n < MOST_BLOCK_LINES && b->lines.len < BLOCK_BYTES; n++) {
        *rest = rest_behind(*rest, first_line(*rest));
        b->lines.len = (size_t)(rest->ptr - b->lines.ptr);
    }
}

static void render_block(void *arg, int64_t i, int thread)
{
    Conversion *c = arg;
    InputBlock *b = &c->block[i];
    text_clear(&b->text);
    b->n_rendered = 0;
    for (Str rest = b->lines, line; rest.len; rest = rest_behind(rest, line)) {
        Rendered *r = &b->rendered[b->n_rendered++];
        size_t before = b->text.len;
        line = first_line(rest);
        *r = (Rendered){ .line = line };
        r->error = conversation_convert(&c->conversation[thread], line, &b->text, &r->column);
        r->n_bytes = b->text.len - before;
    }
}

/* random.choices over the three names: the first whose sum of percentages exceeds the draw. */
static Partition *draw_partition(Conversion *c)
{
    const SplitShares *p = &c->config->settings.split_config->splitting;
    double x = python_random(&c->draws) * 100.0;
    int i = x < (double)p->train ? 0 : x < (double)(p->train + p->val) ? 1 : 2;
    return &c->summary.partition[i];
}

/* Sends one line where its draw says. */
static Error *write_line(Conversion *c, Rendered *r, const char *text)
{
    Partition *to = draw_partition(c);
    int64_t number = ++c->summary.n_lines, offset = r->line.ptr - c->source.ptr;
    Error *e = r->error;
    r->error = NULL;
    if (e)
        return bad_lines_add(&c->bad, c->config->settings.src_path, number, offset, r->line,
                             r->column, e);
    to->n_lines++;
    return resumable_add(c->file, c->stream[to - c->summary.partition], text, r->n_bytes);
}

static Error *write_block(Conversion *c, InputBlock *b)
{
    const char *text = b->text.ptr;
    for (int i = 0; i < b->n_rendered; text += b->rendered[i++].n_bytes)
        TRY(write_line(c, &b->rendered[i], text));
    c->offset += (int64_t)b->lines.len;
    const InstructionSummary *s = &c->summary;
    int64_t number[MOST_NUMBERS] = { [LINES] = s->n_lines, [OFFSET] = c->offset, [BAD] = c->bad.n };
    for (int i = 0; i < N_PARTITIONS; i++) number[PARTITION_LINES + i] = s->partition[i].n_lines;
    TRY(resumable_reach(c->file, number));
    if (!signal_stop_requested()) return NULL;
    return error_stopped("stopped by a signal; %s was not written", resumable_output(c->file));
}

static Error *convert_lines(Conversion *c, Pool *pool)
{
    int64_t most = (int64_t)pool_size(pool) * BLOCKS_PER_THREAD;
    CommandProgress progress = progress_start("rendering", (int64_t)c->source.len, PROGRESS_BYTES);
    progress.found = c->offset;
    Str rest = { c->source.ptr + c->offset, c->source.len - (size_t)c->offset };
    while (rest.len) {
        int64_t n = 0;
        while (n < most && rest.len) fill_block(&c->block[n++], &rest);
        pool_run(pool, n, render_block, c);
        Error *e = NULL;
        for (int64_t i = 0; i < n; i++) {
            if (!e) e = write_block(c, &c->block[i]);
            for (int k = 0; k < c->block[i].n_rendered; k++)
                error_free(c->block[i].rendered[k].error);
        }
        if (e) return e;
        progress_update(&progress, c->offset);
    }
    progress_end(&progress);
    return NULL;
}

static Error *convert_file(Arena *a, Conversion *c)
{
    TRY(file_view(a, c->config->settings.src_path, &c->source));
    if (c->offset > (int64_t)c->source.len)
        return error_new("%s: %lld bytes are converted already, but it has only %zu",
                         c->config->settings.src_path, (long long)c->offset, c->source.len);
    Pool *pool = pool_new(0);
    int n = pool_size(pool);
    c->block = NEW_N(a, InputBlock, n * BLOCKS_PER_THREAD);
    c->conversation = NEW_N(a, Conversation, n);
    for (int i = 0; i < n; i++) conversation_open(c->config, c->template, &c->conversation[i]);
    Error *e = convert_lines(c, pool);
    for (int i = 0; i < n; i++) conversation_close(&c->conversation[i]);
    for (int i = 0; i < n * BLOCKS_PER_THREAD; i++) text_free(&c->block[i].text);
    pool_free(pool);
    return e;
}

/* ---- outputs, and what an earlier run left of them ---- */

/* What the lines depend on, but for the policy for bad lines. */
static Error *identify(const InstructionConfig *config, Text *out)
{
    const InstructionSettings *s = &config->settings;
    const SplitShares *split = &s->split_config->splitting;
    const StringMap *role = &config->instruction_data_transformation.role_mapping;
    Text all = { 0 };
    char digest[65];
    text_printf(&all, "%lld %lld %lld %lld %lld\n%s\n%s\n", (long long)split->train,
                (long long)split->val, (long long)split->test, (long long)s->split_config->seed,
                (long long)s->max_line_bytes, s->messages_key, config->jinja2_chat_template);
    for (int64_t i = 0; i < role->n; i++)
        text_printf(&all, "%s\n%s\n", role->item[i].key, role->item[i].value);
    yaml_emit_unicode(config->chat_template_data, &all);
    sha256_hex(all.ptr, all.len, digest);
    text_free(&all);
    text_printf(out, "work: converting conversations\nsettings (SHA-256): %s\n", digest);
    return identify_path(out, "input", s->src_path);
}

static Error *open_outputs(Conversion *c)
{
    OutputStream stream[MOST_STREAMS];
    int n = 0;
    for (int i = 0; i < N_PARTITIONS; i++) {
        const Partition *p = &c->summary.partition[i];
        c->stream[i] = p->is_wanted ? n : -1;
        if (p->is_wanted) stream[n++] = (OutputStream){ .path = p->jsonl_path };
    }
    TRY(bad_lines_stream(c->config->settings.bad_line_report, &stream[n]));
    TRY(make_directories(c->summary.folder));
    Text identity = { 0 };
    Error *e = identify(c->config, &identity);
    if (!e) e = resumable_open(stream[0].path, identity.ptr, stream, n + 1, &c->file);
    text_free(&identity);
    return e ? e : bad_lines_keep(&c->bad, c->file, n);
}

/* The numbers of the last part; the draws of its lines are made again. */
static void take_found(Conversion *c)
{
    const int64_t *number = resumable_numbers(c->file);
    int64_t seed = c->config->settings.split_config->seed;
    mt19937_seed_python(&c->draws, seed < 0 ? -(uint64_t)seed : (uint64_t)seed);
    for (int64_t i = 0; i < number[LINES]; i++) python_random(&c->draws);
    c->summary.n_lines = number[LINES];
    c->offset = number[OFFSET];
    for (int i = 0; i < N_PARTITIONS; i++)
        c->summary.partition[i].n_lines = number[PARTITION_LINES + i];
}

static const char CONVERTED[] = "converted: ";

/* How many lines there were, for a run that finds them converted. */
static Error *note_counts(const Conversion *c)
{
    const InstructionSummary *s = &c->summary;
    Text t = { 0 };
    text_printf(&t, "%s%" PRId64 " %" PRId64, CONVERTED, s->n_lines, s->n_bad);
    for (int i = 0; i < N_PARTITIONS; i++) text_printf(&t, " %" PRId64, s->partition[i].n_lines);
    Error *e = resumable_note(c->file, t.ptr);
    text_free(&t);
    return e;
}

/* True if an earlier run has converted all lines; its files are as it left them. */
static bool find_converted(Conversion *c)
{
    InstructionSummary *s = &c->summary;
    const char *counts = resumable_find_note(c->file, CONVERTED);
    Partition *p = s->partition;
    if (!counts ||
        sscanf(counts, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &s->n_lines,
               &s->n_bad, &p[0].n_lines, &p[1].n_lines, &p[2].n_lines) != 2 + N_PARTITIONS)
        return false;
    for (int i = 0; i < N_PARTITIONS; i++)
        if (p[i].is_wanted && !resumable_is_made(c->file, p[i].jsonl_path)) return false;
    log_info("%s: the conversations that an interrupted run converted are used", s->folder);
    return true;
}

/* Ends with all lines in place and noted. */
static Error *write_lines(Arena *a, Conversion *c)
{
    const InstructionSettings *s = &c->config->settings;
    if (find_converted(c)) return NULL;
    take_found(c);
    if (resumable_find_note(c->file, CONVERTED)) {
        TRY(resumable_discard(c->file, "its files were changed"));
        take_found(c);
    } else if (c->bad.n && c->bad.policy == BAD_LINE_STOP) {
        TRY(resumable_discard(c->file, "it left out bad lines"));
        c->bad.n = 0;
        take_found(c);
    }
    TRY(convert_file(a, c));
    c->summary.n_bad = c->bad.n;
    bad_lines_tell(&c->bad, s->src_path, c->summary.n_lines);
    TRY(resumable_place(c->file));
    for (int i = 0; i < N_PARTITIONS; i++)
        if (c->summary.partition[i].is_wanted)
            TRY(resumable_note_made(c->file, c->summary.partition[i].jsonl_path));
    return note_counts(c);
}

static Error *write_outputs(Arena *a, Conversion *c, const char *hash, Str config)
{
    Error *e = write_lines(a, c);
    if (!e) e = file_write(copy_path(a, &c->summary, hash), config.ptr, config.len);
    return e ? resumable_abandon(c->file, e) : NULL;
}

static Error *convert(Arena *a, Conversion *c, const char *config_path)
{
    const InstructionConfig *config = c->config;
    char hash[65];
    Str bytes;
    Template *t;
    TRY(error_wrap(template_parse(a, str_of(config->jinja2_chat_template), true, &t),
                   "%s: jinja2_chat_template", config_path));
    c->template = t;
    TRY(hash_file(config_path, &bytes, a, hash));
    name_outputs(a, &config->settings, hash, &c->summary);
    TRY(bad_lines_open((BadLinePolicy)config->settings.on_bad_line, NULL, &c->bad));
    c->bad.skipping = BAD_LINES_SKIPPED_BY_SET;
    Error *e = open_outputs(c);
    if (!e) e = write_outputs(a, c, hash, bytes);
    e = error_join(e, bad_lines_close(&c->bad, !e));
    if (e) rmdir(c->summary.folder); /* unless something is in it */
    return e;
}

Error *instruction_paths_add(Arena *a, const InstructionConfig *config, const char *config_path,
                             PathRoles *to)
{
    char hash[65];
    Str bytes;
    InstructionSummary s = { 0 };
    TRY(hash_file(config_path, &bytes, a, hash));
    name_outputs(a, &config->settings, hash, &s);
    path_roles_add(to, PATH_WRITTEN, "the copy of the configuration", copy_path(a, &s, hash));
    for (int i = 0; i < N_PARTITIONS; i++) {
        const Partition *p = &s.partition[i];
        const char *path[] = { p->jsonl_path, p->index_path, p->pbin_path, p->pack_config_path };
        static const char *const what[] = { "texts", "index", "packed file", "configuration" };
        for (int k = 0; p->is_wanted && k < 4; k++)
            path_roles_add(to, PATH_WRITTEN, arena_printf(a, "the %s of %s:", what[k], p->name),
                           path[k]);
    }
    return NULL;
}

Error *instruction_convert(Arena *a, const InstructionConfig *config, const char *config_path,
                           InstructionSummary *out, Resumable **file)
{
    Conversion c = { .config = config };
    Error *e = convert(a, &c, config_path);
    *out = c.summary;
    *file = c.file;
    return e;
}
