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
    bool print_speed; /* tokens per second of all, as a notice */
    uint64_t seed;
    int64_t number;         /* of the prompt: each draws other random numbers */
    int64_t max_new_tokens; /* INT64_MAX: as many as fit */
    const Chat *chat;       /* prompts are messages to a chat model; NULL: texts to continue */
    const char *system;     /* with chat: the message before; NULL: none */
    bool slides;            /* a full context goes on with its last half */
    Consensus *together;    /* ranks that share the model and make the same answers; NULL: one */
} AnswerSettings;

typedef enum AnswerEnd { ANSWER_EOD, ANSWER_LIMIT, ANSWER_STOPPED, ANSWER_TEXT } AnswerEnd;

/* A prompt, and what becomes of it. */
typedef struct Asked {
    const char *text, *place; /* for errors: where it comes from; NULL: it says so itself */
    int64_t number;           /* AnswerSettings.number */
    Text answer;              /* the caller frees it */
    AnswerEnd end;
} Asked;

/* Continues n prompts, `at_once` (at most MAX_TEXTS) of them side by side; what cannot be answered
 * is an error before anything is. A stop signal ends them all. `to` is for a single prompt. */
Error *text_inference_answer_all(const TextInference *t, Generator *g, int64_t at_once,
                                 Asked *asked, int64_t n, const AnswerSettings *s, FILE *to);
/* Continues the prompt. `to` (NULL: nobody) gets the lines of the original, and the answer as it
 * grows, by whole characters. A stop signal ends it after the running token. */
Error *text_inference_answer(const TextInference *t, Generator *g, const char *prompt,
                             const AnswerSettings *s, FILE *to, AnswerEnd *end);
#endif
