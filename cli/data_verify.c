/* data_verify.c - `data verify`: whether packed files and indexes are what they claim to be. */
#include "base/signal.h"
#include "command.h"
#include "data/verify.h"
#include "sharing.h"
#include "tokenizer/tokenizer.h"
#include <stdio.h>
#include <string.h>

typedef struct Options {
    StringList paths;
    const char *tokenizer, *eod_token;
    int64_t vocab_size;
} Options;

static const Field path_item = { .type = FIELD_PATH, .flags = FIELD_EXISTS };

static const Field options[] = {
    FIELD_LIST(Options, paths, StringList, &path_item, NULL, 1, INFINITY,
               "files of packed tokens (.pbin), raw indexes (.idx) or the JSONL files beside them",
               .flags = FIELD_ARGUMENT),
    FIELD_PATH(Options, tokenizer, "null", "ids must be its ids: " TOKENIZER_FILES,
               .flags = FIELD_EXISTS_ANY, .role = PATH_READ_TOKENIZER),
    FIELD_STRING(Options, eod_token, "null",
                 "every document must end with this token of the tokenizer"),
    FIELD_INT(Options, vocab_size, "0", 0, INT64_C(1) << 32,
              "ids must be below; 0: any, or the tokenizer's"),
    { 0 },
};

/* All ranks have found their shares of it fine. */
static Error *verify_packed(const char *path, const PbinExpectation *expected, const Crew *crew)
{
    PbinVerdict v;
    Error *e = verify_pbin(path, expected, &v);
    double largest = e ? 0 : v.largest_id;
    TRY(consensus_hear(crew->consensus, e));
    TRY(consensus_reach(crew->consensus, NULL, &largest, 1));
    if (!consensus_leads(crew->consensus)) return NULL;
    printf("%s: fine: %lld documents, %lld tokens, ids up to %.0f", path, (long long)v.n_documents,
           (long long)v.n_tokens, largest);
    if (v.n_empty) printf(", %lld empty documents", (long long)v.n_empty);
    if (v.is_miscounted)
        printf("; offsets miscounted by the original's merging, read as they were meant");
    putchar('\n');
    return NULL;
}

static Error *verify_lines(const char *jsonl, const char *index, const Crew *crew)
{
    IndexVerdict v;
    TRY(consensus_hear(crew->consensus, verify_index(jsonl, index, sharing_of(crew), &v)));
    if (!consensus_leads(crew->consensus)) return NULL;
    printf("%s: fine: an index of %lld lines", index, (long long)v.n_entries);
    if (v.n_entries < v.n_lines)
        printf("; %lld lines of %s are left out", (long long)(v.n_lines - v.n_entries), jsonl);
    putchar('\n');
    return NULL;
}

static Error *verify(Arena *a, const char *path, const PbinExpectation *expected, const Crew *crew)
{
    if (str_ends(str_of(path), ".pbin")) return verify_packed(path, expected, crew);
    if (str_ends(str_of(path), ".idx"))
        return verify_lines(path_with_suffix(a, path, ".jsonl"), path, crew);
    return verify_lines(path, path_with_suffix(a, path, ".idx"), crew);
}

static Error *expectation(const Options *o, PbinExpectation *out)
{
    *out = (PbinExpectation){ .vocab_size = o->vocab_size, .eod = -1 };
    Tokenizer *t;
    if (!o->tokenizer)
        return o->eod_token ? error_usage("--eod_token needs --tokenizer, which knows its id")
                            : NULL;
    TRY(tokenizer_open(o->tokenizer, &t));
    if (!out->vocab_size) out->vocab_size = t->n_ids;
    if (o->eod_token) out->eod = t->token_id(t, str_of(o->eod_token));
    t->close(t);
    if (o->eod_token && out->eod < 0)
        return error_new("--eod_token '%s' is no token of %s", o->eod_token, o->tokenizer);
    return NULL;
}

/* Every rank looks at its share of each file. */
static Error *verify_all(Arena *a, const void *given, const Crew *crew)
{
    const Options *o = given;
    PbinExpectation expected;
    Error *all = NULL;
    TRY(consensus_error(crew->consensus, expectation(o, &expected)));
    expected.share = sharing_of(crew);
    signal_catch();
    for (int64_t i = 0; i < o->paths.n; i++) {
        double stops = signal_stop_requested();
        Error *e = consensus_reach(crew->consensus, NULL, &stops, 1);
        if (e || stops > 0) return error_join(all, e);
        all = error_join(all, verify(a, o->paths.item[i], &expected, crew));
    }
    return all;
}

static Error *run(Arena *a, const void *given)
{
    return sharing_run(a, given, verify_all);
}

const Command command_data_verify = {
    .group = "data",
    .name = "verify",
    .doc = "Checks packed files and indexes whole; names what is wrong.",
    .details = "Packed files: header, index, every token, ends of documents. Indexes: every entry "
               "is a whole line of its file, and JSON. Exit status 0: all is fine; 1: it is not. "
               "Memory does not grow with the files." SHARING_DETAILS,
    .examples = "modalities data verify corpus.pbin corpus.jsonl\n"
                "modalities data verify corpus.pbin --tokenizer gpt2 --eod_token '<|endoftext|>'",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
