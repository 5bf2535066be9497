/* stream.h - text of ids that arrive one by one, for generation. */
#ifndef TOKENIZER_DECODE_STREAM_H
#define TOKENIZER_DECODE_STREAM_H
#include "tokenizer/tokenizer.h"

/* Put together, its pieces are what decoding all ids at once gives. */
typedef struct DecodeStream DecodeStream;

DecodeStream *decode_stream_new(const Tokenizer *tokenizer, bool skip_special_tokens);
/* Appends the text that this id completes: whole characters that later ids cannot change, or
 * nothing. */
Error *decode_stream_add(DecodeStream *s, uint32_t id, Text *out);
/* Appends what was held back; the stream is then empty and may be used for another text. */
Error *decode_stream_finish(DecodeStream *s, Text *out);
void decode_stream_free(DecodeStream *s);
#endif
