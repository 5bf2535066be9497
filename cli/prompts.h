/* prompts.h - where generate_text gets its prompts from: the command line, a person, or lines of a
 * file or pipe. */
#ifndef CLI_PROMPTS_H
#define CLI_PROMPTS_H
#include "train/prompt_template.h"

typedef struct Prompts Prompts;

/* `given` (NULL: none) stands for the one name of the template. Without it, and if the template has
 * names, stdin is asked for them. */
Error *prompts_new(Arena *a, const PromptTemplate *t, const char *given, Prompts **out);
/* The next prompt, or NULL at the end of the input and after a stop signal. A person who gives an
 * empty one is asked again; elsewhere that is an error. */
Error *prompts_next(Arena *a, Prompts *p, const char **out);
#endif
