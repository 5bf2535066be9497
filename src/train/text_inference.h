/* text_inference.h - inference_component.text: what answers prompts, and how it prints them. */
#ifndef TRAIN_TEXT_INFERENCE_H
#define TRAIN_TEXT_INFERENCE_H
#include "tokenizer/tokenizer.h"
#include "train/chat.h"
#include "train/consensus.h"
#include "train/generate.h"
#include "train/generation_settings.h"
#include "train/prompt_template.h"
#include "train/sample.h"
#include <stdio.h>

typedef struct TextInference {
    const Model *model;
    const Tokenizer *tokenizer;
    PromptTemplate prompt_template;
    int64_t sequence_length; /* of prompt and answer together */
    double temperature;
    const char *eod_token; /* its text ends an answer; NULL: none does */
    DeviceChoice device;
} TextInference;

/* How one answer is made; the same settings and prompt give the same answer. */
typedef struct AnswerSettings {
    Sampling sampling;
    StringList stops; /* texts that end an answer, and are no part of it */
    bool print_speed; /* tokens per second, as a notice */
    uint64_t seed;
    int64_t number;         /* of the prompt: each draws other random numbers */
    int64_t max_new_tokens; /* INT64_MAX: as many as fit */
    const Chat *chat;       /* prompts are messages to a chat model; NULL: texts to continue */
    const char *system;     /* with chat: the message before; NULL: none */
    bool slides;            /* a full context goes on with its last half */
    Text *kept;             /* gets the answer; NULL: nobody does */
    Consensus *together;    /* ranks that share the model and make the same answers; NULL: one */
} AnswerSettings;

typedef enum AnswerEnd { ANSWER_EOD, ANSWER_LIMIT, ANSWER_STOPPED, ANSWER_TEXT } AnswerEnd;

/* Continues the prompt. `to` (NULL: nobody) gets the lines of the original, and the answer as it
 * grows, by whole characters. A stop signal ends it after the running token. */
Error *text_inference_answer(const TextInference *t, Generator *g, const char *prompt,
                             const AnswerSettings *s, FILE *to, AnswerEnd *end);
#endif
