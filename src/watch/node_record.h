/* node_record.h - a node that has run as a file: its op, settings, inputs and results. */
#ifndef WATCH_NODE_RECORD_H
#define WATCH_NODE_RECORD_H
#include "watch/watch.h"

/* Writes a safetensors file with "in.0", "in.1", ... and "out.0", ...; its metadata tells the rest.
 * What a node writes in place is among its inputs as it was afterwards. */
Error *node_record_write(Arena *a, const NodeRun *x, const char *path);
/* Runs such a node again by its reference kernel and by the tuned one, and tells on `to` what the
 * numbers of all results are like. */
Error *node_record_replay(Arena *a, const char *path, FILE *to);
#endif
