/* data_bigram_loss.c - `data bigram_loss`: how well a token predicts the next one. */
#include "command.h"
#include "data/bigram.h"
#include <math.h>
#include <stdio.h>

typedef struct Options {
    const char *train_path, *validation_path;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, train_path, NULL, "packed tokens to count in",
               .flags = FIELD_ARGUMENT | FIELD_EXISTS),
    FIELD_PATH(Options, validation_path, NULL, "packed tokens to predict",
               .flags = FIELD_ARGUMENT | FIELD_EXISTS),
    { 0 },
};

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    Pbin train, validation;
    BigramLoss loss;
    TRY(pbin_open(a, o->train_path, &train));
    TRY(pbin_open(a, o->validation_path, &validation));
    TRY(pbin_check_index(&train));
    TRY(pbin_check_index(&validation));
    TRY(bigram_loss(&train, &validation, &loss));
    printf("bigram loss %.6f (perplexity %.1f) over %lld tokens; %lld different pairs in %lld "
           "tokens\n",
           loss.nats, exp(loss.nats), (long long)loss.n_predicted, (long long)loss.n_different,
           (long long)train.n_tokens);
    return NULL;
}

const Command command_data_bigram_loss = {
    .group = "data",
    .name = "bigram_loss",
    .doc = "Prints the loss of a bigram model, which a trained model must undercut.",
    .details = "Pairs of neighbouring tokens are counted in the first file and predict the second, "
               "with interpolated Kneser-Ney smoothing. The loss is in nats per token, as that of "
               "an evaluation of the same file.",
    .examples = "modalities data bigram_loss train.pbin validation.pbin",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
