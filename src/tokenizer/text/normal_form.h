/* normal_form.h - the normal forms of Unicode (UAX 15), with the tables that the library has. */
#ifndef TOKENIZER_TEXT_NORMAL_FORM_H
#define TOKENIZER_TEXT_NORMAL_FORM_H
#include "tokenizer/text/sources.h"
#include <stdbool.h>

/* The numbers are the bits of unicode_unstable. */
typedef enum NormalForm { FORM_NFD, FORM_NFKD, FORM_NFC, FORM_NFKC } NormalForm;

/* Appends the normal form of valid UTF-8; false, with nothing appended, when the text is in that
 * form already. `room` is scratch memory; `sources` may be NULL. */
bool normal_form_add(NormalForm form, Str text, Buffer *room, Sources *sources, Text *out);
#endif
