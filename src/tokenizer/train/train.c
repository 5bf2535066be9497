/* train.c - the table of trainers; counts words, has a trainer learn, and writes the file. */
#include "base/file.h"
#include "base/signal.h"
#include "tokenizer/model/vocab.h"
#include "tokenizer/train/sentencepiece.h"

const TrainerKind *const trainer_kinds[] = {
    &trainer_bpe, &trainer_wordpiece, &trainer_sentencepiece_bpe, &trainer_sentencepiece_unigram,
    NULL,
};

Error *train_step(const TrainSettings *s, const char *what, int64_t done, int64_t total)
{
    if (s->progress.show) s->progress.show(s->progress.arg, what, done, total);
    if (signal_stop_requested()) return error_stopped("stopped by a signal; nothing was written");
    return NULL;
}

static Error *check_settings(const TrainerKind *kind, const TrainSettings *s)
{
    if (s->vocab_size < 1 || s->vocab_size > MAX_TOKEN_ID) {
        return error_new("vocab_size %lld is not from 1 to %d", (long long)s->vocab_size,
                         MAX_TOKEN_ID);
    }
    return kind->check ? kind->check(s) : NULL;
}

Error *tokenizer_train(const TrainerKind *kind, const TrainSettings *s, const char *output_path,
                       TrainSummary *summary)
{
    *summary = (TrainSummary){ 0 };
    TRY(check_settings(kind, s));
    Arena *a = arena_new();
    TrainSettings own = *s;
    WordCounts words = { 0 };
    Text file = { 0 };
    Error *e = kind->prepare ? kind->prepare(a, s, &own.prepared) : NULL;
    if (!e) e = train_count(kind, &own, &words, summary);
    if (!e) e = kind->learn(&own, &words, &file, summary);
    if (!e) e = file_write(output_path, file.ptr, file.len);
    word_counts_free(&words);
    text_free(&file);
    arena_free(a);
    return e;
}
