/* data_filter.c - `data filter`: some documents of a .pbin file as a new one. */
#include "base/log.h"
#include "base/signal.h"
#include "command.h"
#include "data/filter.h"
#include "data_rewriting.h"
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
    FIELD_STRING(Options, jq, "null",
                 "keep documents for which this is true, of {index, n_tokens, text}: index from 0, "
                 "tokens with EOD, text without special tokens"),
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
static bool mentions_text(const char *jq)
{
    for (const char *at = jq; (at = strstr(at, "text")); at += 4) {
        bool begins = at == jq || !(isalnum((uint8_t)at[-1]) || at[-1] == '_' || at[-1] == '$');
        if (begins && !isalnum((uint8_t)at[4]) && at[4] != '_') return true;
    }
    return false;
}

static Error *check(const Options *o)
{
    if (!o->jq && !o->keep) return error_usage("one of --jq and --keep is needed, or both");
    if (o->tokenizer && !o->jq) return error_usage("--tokenizer is for --jq, which is missing");
    if (o->jq && !o->tokenizer && mentions_text(o->jq))
        return error_usage("--jq asks for text: --tokenizer is needed to decode the tokens");
    return NULL;
}

static Error *filter(const Options *o, const Tokenizer *t)
{
    FilterSummary done;
    double start = clock_seconds();
    TRY(filter_pbin(&(Filter){ o->src_path, o->target_path, o->jq, o->keep, t, o->tokenizer },
                    &done));
    tell_rewritten(o->target_path, done.n_kept, "documents", done.n_bytes, start);
    log_info("%s: %lld of %lld documents were left out", o->target_path,
             (long long)(done.n_documents - done.n_kept), (long long)done.n_documents);
    return NULL;
}

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    bool write;
    Tokenizer *t = NULL;
    TRY(check(o));
    TRY(prepare_output(a, o->target_path, o->file_existence_policy, &write));
    if (!write) return NULL;
    if (o->tokenizer) TRY(tokenizer_open(o->tokenizer, &t));
    signal_catch();
    Error *e = filter(o, t);
    if (t) t->close(t);
    return e;
}

const Command command_data_filter = {
    .group = "data",
    .name = "filter",
    .doc = "Writes the documents of a .pbin file that pass a filter, in their order.",
    .details = "The expression must give true or false; its first result counts. A filter that "
               "keeps nothing is an error. " REWRITING_DETAILS PIECES_DETAILS("document"),
    .examples = "modalities data filter corpus.pbin short.pbin --jq '.n_tokens < 2048'\n"
                "modalities data filter corpus.pbin english.pbin --tokenizer gpt2 --jq '.text | "
                "test(\"\\\\bthe\\\\b\")'\n"
                "modalities data filter corpus.pbin some.pbin --keep numbers.txt",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
