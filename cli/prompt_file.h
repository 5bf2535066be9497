/* prompt_file.h - prompts from the lines of a JSONL file, answered into another one. */
#ifndef CLI_PROMPT_FILE_H
#define CLI_PROMPT_FILE_H
#include "train/text_inference.h"

typedef struct PromptFile {
    const char *from; /* each line a mapping with "prompt" */
    const char *to;   /* the same lines with "answer" and "end" (eod, limit or text); appears when
                         complete */
    const PromptTemplate *template; /* its names are keys of the line; one name: "prompt", too */
} PromptFile;

/* Answers all lines, `at_once` of them side by side. A stop signal ends it without a file. */
Error *prompt_file_answer(const PromptFile *f, const TextInference *t, Generator *g,
                          int64_t at_once, const AnswerSettings *s);
#endif
