/* data_filter.c - `data filter`: some documents of a .pbin file as a new one. */
#include "base/log.h"
#include "base/signal.h"
#include "command.h"
#include "data/filter.h"
#include "data/merge.h"
#include "data/resumable.h"
#include "data_rewriting.h"
#include "sharing.h"
#include <ctype.h>
#include <string.h>

typedef struct Options {
    const char *src_path, *target_path, *jq, *keep, *tokenizer;
    int file_existence_policy;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, src_path, NULL, "file of packed tokens",
               .flags = FIELD_ARGUMENT | FIELD_EXISTS),
    FIELD_PATH(Options, target_path, NULL, "file to write", .flags = FIELD_ARGUMENT,
               .role = PATH_WRITTEN),
    FIELD_STRING(
        Options, jq, "null",
        "keep documents for which this is true, of {index, n_tokens, tokens, text}: index from "
        "0, tokens their ids with EOD, text without special tokens"),
    FIELD_PATH(Options, keep, "null",
               "keep the documents with the numbers in this file, one a line",
               .flags = FIELD_EXISTS),
    FIELD_PATH(Options, tokenizer, "null", "makes .text: " TOKENIZER_FILES,
               .flags = FIELD_EXISTS_ANY, .role = PATH_READ_TOKENIZER),
    FIELD_CHOICE(Options, file_existence_policy, "error", existing_policies,
                 "when the target is already there"),
    { 0 },
};

/* An expression that asks for the text would find null, which compares with everything. */
static bool mentions(const char *jq, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = jq; (at = strstr(at, name)); at += n) {
        bool begins = at == jq || !(isalnum((uint8_t)at[-1]) || at[-1] == '_' || at[-1] == '$');
        if (begins && !isalnum((uint8_t)at[n]) && at[n] != '_') return true;
    }
    return false;
}

static Error *check(const Options *o)
{
    if (!o->jq && !o->keep) return error_usage("one of --jq and --keep is needed, or both");
    if (o->tokenizer && !o->jq) return error_usage("--tokenizer is for --jq, which is missing");
    if (o->jq && !o->tokenizer && mentions(o->jq, "text"))
        return error_usage("--jq asks for text: --tokenizer is needed to decode the tokens");
    return NULL;
}

typedef struct Work {
    const Options *options;
    const Tokenizer *tokenizer;
    FilterSummary done; /* of this rank */
} Work;

static Error *make(void *context, const char *path, Share share, bool *made)
{
    Work *w = context;
    const Options *o = w->options;
    const Filter f = { .source = o->src_path,
                       .target = path,
                       .jq = o->jq,
                       .keep = o->keep,
                       .tokenizer = w->tokenizer,
                       .tokenizer_path = o->tokenizer,
                       .with_tokens = o->jq && mentions(o->jq, "tokens"),
                       .share = share };
    TRY(filter_pbin(&f, &w->done));
    *made = w->done.n_kept > 0;
    return NULL;
}

static Error *join(void *context, const char *const *part, int64_t n, const char *path)
{
    Work *w = context;
    MergeSummary all;
    if (!n)
        return error_new("The tokenized dataset did not create any data. (the filter keeps none of "
                         "the documents of %s)",
                         w->options->src_path);
    TRY(merge_pbin(part, n, path, &all));
    w->done.n_kept = all.n_documents;
    w->done.n_bytes = all.n_bytes;
    return NULL;
}

static Error *key_of(Arena *a, const Options *o, const char **out)
{
    Text t = { 0 };
    text_printf(&t, "filter\n%s\n", o->jq ? o->jq : "");
    Error *e = identify_path(&t, "input", o->src_path);
    if (!e && o->keep) e = identify_path(&t, "keep", o->keep);
    if (!e && o->tokenizer) e = identify_path(&t, "tokenizer", o->tokenizer);
    *out = sharing_key(a, t.ptr);
    text_free(&t);
    return e;
}

static Error *filter(Arena *a, const Options *o, const Tokenizer *t, const Crew *crew)
{
    double start = clock_seconds();
    Work w = { .options = o, .tokenizer = t };
    SharedOutput output = { .path = o->target_path, .context = &w, .make = make, .join = join };
    if (sharing_of(crew).n > 1) TRY(consensus_error(crew->consensus, key_of(a, o, &output.key)));
    TRY(sharing_make(a, crew, &output));
    if (!consensus_leads(crew->consensus)) return NULL;
    tell_rewritten(o->target_path, w.done.n_kept, "documents", w.done.n_bytes, start);
    if (sharing_of(crew).n > 1) return NULL;
    log_info("%s: %lld of %lld documents were left out", o->target_path,
             (long long)(w.done.n_documents - w.done.n_kept), (long long)w.done.n_documents);
    return NULL;
}

static Error *filter_all(Arena *a, const void *given, const Crew *crew)
{
    const Options *o = given;
    bool write = true;
    Tokenizer *t = NULL;
    TRY(check(o));
    Error *e = consensus_leads(crew->consensus)
                   ? prepare_output(a, o->target_path, o->file_existence_policy, &write)
                   : NULL;
    double is_left_out = !write;
    TRY(consensus_reach(crew->consensus, e, &is_left_out, 1));
    if (is_left_out > 0) return NULL;
    if (o->tokenizer) e = tokenizer_open(o->tokenizer, &t);
    signal_catch();
    e = consensus_error(crew->consensus, e);
    if (!e) e = filter(a, o, t, crew);
    if (t) t->close(t);
    return e;
}

static Error *run(Arena *a, const void *given)
{
    return sharing_run(a, given, filter_all);
}

const Command command_data_filter = {
    .group = "data",
    .name = "filter",
    .doc = "Writes the documents of a .pbin file that pass a filter, in their order.",
    .details =
        "The expression must give true or false; its first result counts. A filter that "
        "keeps nothing is an error. " REWRITING_DETAILS PIECES_DETAILS("document") SHARING_DETAILS,
    .examples = "modalities data filter corpus.pbin short.pbin --jq '.n_tokens < 2048'\n"
                "modalities data filter corpus.pbin english.pbin --tokenizer gpt2 --jq '.text | "
                "test(\"\\\\bthe\\\\b\")'\n"
                "modalities data filter corpus.pbin clean.pbin --jq '.tokens | index(0) | not'\n"
                "modalities data filter corpus.pbin some.pbin --keep numbers.txt",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
