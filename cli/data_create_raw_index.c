/* data_create_raw_index.c - `data create_raw_index`: where each line of a JSONL file lies. */
#include "base/file.h"
#include "base/log.h"
#include "base/signal.h"
#include "command.h"
#include "data/existing_file.h"
#include "data/jsonl.h"
#include "data/resumable.h"
#include "sharing.h"
#include <string.h>

typedef struct Options {
    const char *src_path, *index_path, *bad_line_report;
    int file_existence_policy, on_bad_line;
    int64_t max_line_bytes;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, src_path, NULL,
               "JSON lines: a file (plain, .gz or .zst), a folder, a pattern, or - for standard "
               "input",
               .flags = FIELD_ARGUMENT, .role = PATH_READ_TEXTS),
    FIELD_PATH(Options, index_path, "null",
               "index to write; default: beside each file, with the suffix .idx",
               .role = PATH_WRITTEN),
    FIELD_CHOICE(Options, file_existence_policy, "error", existing_policies,
                 "when the index is already there"),
    FIELD_CHOICE(Options, on_bad_line, "stop", bad_line_policies,
                 "a line that is no JSON is an error, or is named, counted and left out"),
    FIELD_PATH(Options, bad_line_report, "null",
               "file for all lines that were left out, as JSON lines", .role = PATH_WRITTEN),
    FIELD_INT(Options, max_line_bytes, "1073741824", 1, INFINITY, "a longer line is a bad line"),
    { 0 },
};

static const char *index_path_of(Arena *a, const Options *o, const char *source)
{
    return o->index_path ? o->index_path : path_with_suffix(a, source, ".idx");
}

static void tell(const char *source, const char *index_path, const IndexSummary *s)
{
    char bytes[32], rate[32], seconds[32];
    format_bytes((double)s->n_bytes, bytes);
    format_bytes((double)s->n_bytes / s->seconds, rate);
    format_seconds(s->seconds, seconds);
    log_info("%s: %lld lines of %s indexed (%s in %s, %s/s)", index_path,
             (long long)(s->n_lines - s->n_bad), source, bytes, seconds, rate);
}

typedef struct Work {
    const char *source;
    BadLines *bad;
    int64_t lines_before; /* in the file, those of the ranks before */
    IndexSummary done;    /* of this rank */
} Work;

/* The lines in front of this rank's, so that messages have the right numbers. */
static Error *count_before(Arena *a, const Crew *crew, const char *source, int64_t *out)
{
    const Share share = sharing_of(crew);
    int64_t mine = 0;
    double *n = NEW_N(a, double, share.n);
    *out = 0;
    Error *e = jsonl_count_lines(source, share, &mine);
    n[share.rank] = (double)mine;
    TRY(consensus_reach(crew->consensus, e, n, (int)share.n));
    for (int64_t r = 0; r < share.rank; r++) *out += (int64_t)n[r];
    return NULL;
}

static Error *make(void *context, const char *path, Share share, bool *made)
{
    Work *w = context;
    const IndexShare of = { .share = share, .lines_before = w->lines_before };
    *made = true;
    if (share.n <= 1) return jsonl_write_index(w->source, path, w->bad, &w->done);
    return jsonl_write_index_share(w->source, path, &of, w->bad, &w->done);
}

static Error *join(void *context, const char *const *part, int64_t n, const char *path)
{
    (void)context;
    return index_join(part, n, path);
}

static Error *key_of(Arena *a, const Options *o, const char *source, const char **out)
{
    Text t = { 0 };
    text_printf(&t, "index\n%d %lld\n", o->on_bad_line, (long long)o->max_line_bytes);
    Error *e = identify_path(&t, "input", source);
    *out = sharing_key(a, t.ptr);
    text_free(&t);
    return e;
}

/* A text that is decompressed, or an empty one, is one rank's. */
static bool can_be_shared(const char *source)
{
    int64_t size = 0;
    Error *e = text_input_is_plain_file(source) ? file_size(source, &size) : NULL;
    error_free(e);
    return size > 0;
}

static Error *index_one(Arena *a, const Options *o, const char *source, BadLines *bad,
                        const Crew *crew, int64_t *n_lines)
{
    const char *index = index_path_of(a, o, source);
    Consensus *together = crew->consensus;
    bool write = true;
    Error *e = NULL;
    if (consensus_leads(together)) {
        e = existing_file(index, (ExistingPolicy)o->file_existence_policy, &write);
        if (!e && write) e = make_directories(path_folder(a, index));
    }
    double is_left_out = !write;
    TRY(consensus_reach(together, e, &is_left_out, 1));
    if (is_left_out > 0) return NULL;
    Work w = { .source = source, .bad = bad };
    const bool is_shared = sharing_of(crew).n > 1 && can_be_shared(source);
    SharedOutput output = { .path = index, .context = &w, .make = make, .join = join };
    if (is_shared) {
        TRY(count_before(a, crew, source, &w.lines_before));
        TRY(consensus_error(together, key_of(a, o, source, &output.key)));
    }
    if (is_shared || sharing_of(crew).n <= 1)
        TRY(sharing_make(a, crew, &output));
    else
        TRY(consensus_error(together, consensus_leads(together)
                                          ? jsonl_write_index(source, index, bad, &w.done)
                                          : NULL));
    if (consensus_leads(together) && sharing_of(crew).n > 1)
        log_info("%s: indexed %s", index, source);
    else if (consensus_leads(together))
        tell(source, index, &w.done);
    *n_lines += w.done.n_lines;
    return NULL;
}

static Error *index_all(Arena *a, const Options *o, const PathList *files, const Crew *crew)
{
    BadLines bad;
    Error *e = NULL;
    int64_t n_lines = 0;
    if (sharing_of(crew).n > 1 && o->bad_line_report)
        return error_usage("--bad_line_report: several ranks write no common report; index with "
                           "one, or without the report");
    TRY(bad_lines_open((BadLinePolicy)o->on_bad_line, o->bad_line_report, &bad));
    bad.max_line_bytes = o->max_line_bytes;
    for (int64_t i = 0; !e && i < files->n; i++)
        e = index_one(a, o, files->item[i], &bad, crew, &n_lines);
    if (!e) bad_lines_tell(&bad, o->src_path, n_lines);
    return error_join(e, bad_lines_close(&bad, !e));
}

/* Each file of a folder or pattern, and its index. */
static Error *paths(Arena *a, const void *given, PathRoles *to)
{
    const Options *o = given;
    PathList files = { 0 };
    if (o->index_path) return NULL;
    TRY(text_inputs_list(a, &o->src_path, 1, &files));
    for (int64_t i = 0; i < files.n; i++)
        path_roles_add(to, PATH_WRITTEN, arena_printf(a, "the index of %s:", files.item[i]),
                       index_path_of(a, o, files.item[i]));
    return NULL;
}

static Error *list(Arena *a, const Options *o, PathList *files)
{
    if (!strcmp(o->src_path, "-") && !o->index_path)
        return error_usage("--index_path is needed for standard input");
    TRY(text_inputs_list(a, &o->src_path, 1, files));
    if (o->index_path && files->n > 1)
        return error_usage("--index_path is for one file, but %s stands for %lld", o->src_path,
                           (long long)files->n);
    return NULL;
}

static Error *index_as_rank(Arena *a, const void *given, const Crew *crew)
{
    PathList files = { 0 };
    TRY(consensus_error(crew->consensus, list(a, given, &files)));
    signal_catch();
    return index_all(a, given, &files, crew);
}

static Error *run(Arena *a, const void *given)
{
    return sharing_run(a, given, index_as_rank);
}

const Command command_data_create_raw_index = {
    .group = "data",
    .name = "create_raw_index",
    .doc = "Writes the index of a JSONL file, which packing and random access need.",
    .details =
        "Every line is checked to be JSON. The index holds offset and length of each line; "
        "for a compressed file and standard input, those in its text, which is kept in a "
        "temporary file beside the index meanwhile. Memory does not grow with the file. An "
        "index appears when it is complete; an interrupted one begins anew (it is read at "
        "the rate of the disk), and with --file_existence_policy skip those that are complete "
        "are not made again." SHARING_DETAILS,
    .examples = "modalities data create_raw_index corpus.jsonl\n"
                "modalities data create_raw_index corpus.jsonl --index_path index/corpus.idx "
                "--file_existence_policy override\n"
                "zcat corpus.gz | modalities data create_raw_index - --index_path corpus.idx",
    .options = options,
    .options_size = sizeof(Options),
    .paths = paths,
    .run = run,
};
