/* post_processor.h - the stage that adds special tokens around the ids of a text. */
#ifndef TOKENIZER_POST_PROCESSOR_H
#define TOKENIZER_POST_PROCESSOR_H
#include "tokenizer/json_node.h"

/* Reads the `post_processor` of a tokenizer.json. Those accepted so far add nothing. */
Error *post_processor_load(JsonNode at);
#endif
