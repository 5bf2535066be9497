/* keep_pictures.c - memory over a step and the schedule of a pipeline, as files for the board. */
#include "train/keep_pictures.h"
#include "base/file.h"
#include "base/log.h"
#include "exec/pipeline_describe.h"
#include "monitor/run_record.h"

static Error *keep_memory(const char *folder, const Program *p)
{
    Arena *a = arena_new();
    Text t = { 0 };
    program_memory_outline(p, &t);
    Error *e = file_write_unsynced(path_join(a, folder, MEMORY_OUTLINE), t.ptr, t.len);
    text_free(&t);
    arena_free(a);
    return e;
}

static Error *keep_schedule(const TrainingJob *job)
{
    const Pipeline *p = job->state->model->pipeline;
    if (!p || p->ranks == 1 || !p->per_batch) return NULL;
    Arena *a = arena_new();
    Text t = { 0 };
    Error *e = pipeline_events_json(p, job->accumulation, job->microbatch_size, &t);
    if (!e) e = file_write_unsynced(path_join(a, job->folder, PIPELINE_SCHEDULE), t.ptr, t.len);
    text_free(&t);
    arena_free(a);
    return e;
}

void keep_pictures(const TrainingJob *job, const Program *p)
{
    if (!job->folder) return;
    Error *e = error_join(keep_memory(job->folder, p), keep_schedule(job));
    if (e) log_warning("the board cannot show memory or schedule of this run: %s", error_text(e));
    error_free(e);
}
