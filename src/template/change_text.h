/* change_text.h - changes of text that filters and methods share. */
#ifndef TEMPLATE_CHANGE_TEXT_H
#define TEMPLATE_CHANGE_TEXT_H
#include "template/characters.h"
#include "template/function.h"

/* `from` replaced by `to`, at most `most` times (< 0: everywhere), as str.replace. */
Error *replace_text(Run *r, Str s, Str from, Str to, int64_t most, TemplateValue *out);
/* All of it in one case. */
Error *change_case(Run *r, Str s, LetterCase to, TemplateValue *out);
/* The first character in upper case, the rest in lower case. */
Error *capitalize_text(Run *r, Str s, TemplateValue *out);
/* Without white space, or the characters of argument 0, at these sides. */
Error *strip_text(Run *r, const Call *c, int sides, TemplateValue *out);
/* The printed items with text between them. */
Error *join_items(Run *r, const ValueList *l, Str between, TemplateValue *out);
#endif
