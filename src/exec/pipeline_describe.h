/* pipeline_describe.h - what --print_schedule and the board show. */
#ifndef EXEC_PIPELINE_DESCRIBE_H
#define EXEC_PIPELINE_DESCRIBE_H
#include "exec/pipeline_schedule.h"
#include "passes/pipeline.h"

/* What each stage holds with its share of the time, the bubble that follows, and the picture of a
 * step in which so many batches of the loader, of so many samples, go through the stages. A usage
 * error where there is no pipeline. */
Error *pipeline_describe(const Pipeline *p, int64_t batches, int64_t samples, int width, FILE *to);
/* The same step for pages that draw it: {"name", "ranks", "stages", "microbatches", "bubble",
 * "events": [[rank, "F", stage, microbatch, start, end], ...]}; times are parts of the step, and
 * instead of F there is B, or I and W where the backward pass is in two halves. The pipeline has
 * several ranks, and the samples can be cut. */
Error *pipeline_events_json(const Pipeline *p, int64_t batches, int64_t samples, Text *out);
#endif
