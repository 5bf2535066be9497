/* chat.h - a user's message as the text that a chat model was trained to answer: by the chat
 * template in the tokenizer's folder, as transformers' apply_chat_template. */
#ifndef TRAIN_CHAT_H
#define TRAIN_CHAT_H
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

typedef struct Chat Chat;

/* The template of chat_template.jinja, or of chat_template in tokenizer_config.json (of several the
 * one called "default"). An error when the folder has none. */
Error *chat_open(Arena *a, const char *folder, Chat **out);
/* The text of a system message (NULL: none) and a user's message, up to where the answer begins. */
Error *chat_text(const Chat *c, Arena *a, const char *system, const char *message,
                 const char **out);
/* The text of the token that ends an answer; NULL: the folder names none. */
const char *chat_end(const Chat *c);
#endif
