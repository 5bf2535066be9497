/* embed.h - rows of a table by id. */
#ifndef OPS_EMBED_H
#define OPS_EMBED_H
#include "graph/op.h"

/* Rows of `table` [v d], "*,vd->*d"; ids are I32. */
Value *embed(Graph *g, Value *ids, Value *table);
#endif
