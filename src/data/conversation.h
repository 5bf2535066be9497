/* conversation.h - from a line with messages to a line with the text of the conversation. */
#ifndef DATA_CONVERSATION_H
#define DATA_CONVERSATION_H
#include "data/instruction.h"
#include "template/template.h"

/* What one thread needs to convert lines. */
typedef struct Conversation {
    const InstructionConfig *config;
    const Template *template; /* threads share it */
    Arena *arena, *scratch;   /* as long as this; of one line */
    TemplateValue data;       /* chat_template_data */
    Text chat;
} Conversation;

void conversation_open(const InstructionConfig *config, const Template *t, Conversation *out);
void conversation_close(Conversation *c);
/* Appends the line with mapped roles and its text under "chat", and a newline. The error says why
 * there is none; *column is the byte of the line it is about, or -1. */
Error *conversation_convert(Conversation *c, Str line, Text *out, int64_t *column);
#endif
