/* document.h - docs/ops.md from the table of ops. */
#ifndef OPS_DOCUMENT_H
#define OPS_DOCUMENT_H
#include "base/str.h"

/* Appends the page as Markdown. */
void ops_document(Text *to);
#endif
