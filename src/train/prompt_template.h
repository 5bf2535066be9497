/* prompt_template.h - a text with {names} that a user fills in: "Question: {question}\nAnswer: ".
 *
 * {{ and }} stand for single braces, as in Python's str.format. */
#ifndef TRAIN_PROMPT_TEMPLATE_H
#define TRAIN_PROMPT_TEMPLATE_H
#include "base/arena.h"
#include "base/error.h"

/* name[i] as often and in the order in which they stand in the text. */
typedef struct PromptTemplate {
    const char *text;
    const char **name;
    int n_names;
} PromptTemplate;

/* Errors name the place of a brace that is not closed, and what stands for no plain name. */
Error *prompt_template_parse(Arena *a, const char *text, PromptTemplate *out);
/* The text with answer[i] for name[i]; where a name stands twice, the last answer counts for both.
 */
const char *prompt_template_fill(Arena *a, const PromptTemplate *t, const char *const *answer);
#endif
