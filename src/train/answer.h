/* answer.h - one answer while it grows, token by token, from logits that somebody else makes. */
#ifndef TRAIN_ANSWER_H
#define TRAIN_ANSWER_H
#include "tokenizer/decode/stream.h"
#include "train/text_inference.h"

typedef struct Answer {
    Arena *arena;
    const TextInference *inference;
    AnswerSettings settings;
    FILE *to;   /* gets it as it grows, by whole characters; NULL: nobody */
    Text *kept; /* gets it, too; NULL: nobody */
    DecodeStream *stream;
    Text piece;     /* of the text, not given yet: a stop may begin at its end */
    uint32_t *seen; /* tokens of prompt and answer */
    int64_t n_prompt, n_seen, cap_seen;
    int64_t n_left; /* tokens that it may still get */
    bool is_over;
    AnswerEnd end; /* when it is over */
} Answer;

/* Begins an answer whose text may have `most` tokens, and shows the prompt. Errors: a prompt that
 * is too long, or is no text. Free with answer_free. */
Error *answer_open(const TextInference *t, const AnswerSettings *s, const char *prompt,
                   int64_t most, FILE *to, Text *kept, Answer **out);
/* The next token from the logits of what was seen; may end the answer. */
Error *answer_take(Answer *a, const Tensor *logits);
/* Ends it from outside. */
void answer_end(Answer *a, AnswerEnd end);
/* Shows what is left of an answer that is over. */
Error *answer_close(Answer *a);
void answer_free(Answer *a);
#endif
