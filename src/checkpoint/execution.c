/* execution.c - checkpoint_saving and checkpoint_saving_execution: where and under which names. */
#include "checkpoint/saving.h"
#include "config/builder.h"
#include <string.h>

static const char *const dcp_choices[] = { "dcp", "native", NULL }, *const fsdp1_choices[] = {
    "fsdp1", "native", NULL
};

/* clang-format off */
#define EXECUTION_FIELDS(choices, torch) \
    FIELD_PATH(CheckpointExecution, checkpoint_path, NULL, "folder that the checkpoint folders lie in; made when missing", .role = PATH_BEGINNING), \
    FIELD_INT(CheckpointExecution, global_rank, NULL, 0, INFINITY, "rank of this process; rank 0 writes", .flags = FIELD_STRICT), \
    FIELD_STRING(CheckpointExecution, experiment_id, NULL, "part of the name of each checkpoint folder"), \
    FIELD_CHOICE(CheckpointExecution, format, torch, choices, torch ": files that torch reads; native: safetensors files; checksums and all else are the same")

static const Field dcp_fields[] = { EXECUTION_FIELDS(dcp_choices, "dcp"), { 0 } };
static const Field fsdp1_fields[] = { EXECUTION_FIELDS(fsdp1_choices, "fsdp1"), { 0 } };
/* clang-format on */

/* A name, not a path: it becomes a part of a folder's name. */
static Error *check_execution(const void *settings)
{
    const char *id = ((const CheckpointExecution *)settings)->experiment_id;
    if (!strchr(id, '/')) return NULL;
    return error_new("experiment_id \"%s\"; allowed: a name without \"/\"", id);
}

static Error *build_execution(Builder *b, const void *settings, void **out)
{
    CheckpointExecution *x = arena_copy(builder_arena(b), settings, sizeof *x);
    x->is_fsdp1 = builder_self(b)->variant[0] == 'f';
    *out = x;
    return NULL;
}

const ComponentDef checkpoint_saving_execution_dcp = {
    .kind = "checkpoint_saving_execution",
    .variant = "dcp",
    .doc = "one folder per checkpoint, of torch.distributed.checkpoint (DCP); "
           "last_checkpoint_info.json names the last one for `warmstart`",
    .fields = dcp_fields,
    .settings_size = sizeof(CheckpointExecution),
    .check = check_execution,
    .build = build_execution,
};

const ComponentDef checkpoint_saving_execution_fsdp1 = {
    .kind = "checkpoint_saving_execution",
    .variant = "fsdp1",
    .doc = "as dcp, but tensors are in the two .bin files of FSDP1, whose paths "
           "last_checkpoint_info.json has as well",
    .fields = fsdp1_fields,
    .settings_size = sizeof(CheckpointExecution),
    .check = check_execution,
    .build = build_execution,
};

typedef struct Settings {
    CheckpointStrategy *checkpoint_saving_strategy;
    CheckpointExecution *checkpoint_saving_execution;
    bool in_background;
    int when_busy, on_failure;
} Settings;

enum { BY_PLACE = 2 };

static const char *const busy_choices[] = { "wait", "skip", NULL }, *const failure_choices[] = {
    "stop", "go_on", "by_place", NULL
};

static const Field fields[] = {
    FIELD_COMPONENT(Settings, checkpoint_saving_strategy, CheckpointStrategy,
                    "checkpoint_saving_strategy", NULL, "when to save and what to keep"),
    FIELD_COMPONENT(Settings, checkpoint_saving_execution, CheckpointExecution,
                    "checkpoint_saving_execution", NULL, "where to save"),
    FIELD_BOOL(Settings, in_background, "false",
               "the training goes on while its state is written; a copy of what is not written "
               "when the state changes takes memory"),
    FIELD_CHOICE(Settings, when_busy, "wait", busy_choices,
                 "in the background, what is done when a checkpoint is due and the one before is "
                 "still being written: wait for that, or skip this one"),
    FIELD_CHOICE(Settings, on_failure, "by_place", failure_choices,
                 "what a checkpoint that cannot be written does to the training; by_place: stop, "
                 "in the background go_on, with a warning"),
    { 0 },
};

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    CheckpointSaving *saving = checkpoint_saving_new(
        builder_arena(b), s->checkpoint_saving_strategy, s->checkpoint_saving_execution);
    const bool goes_on = s->on_failure == BY_PLACE ? s->in_background : s->on_failure;
    saving->in_background = s->in_background;
    saving->when_busy = s->when_busy ? SAVING_SKIPS : SAVING_WAITS;
    saving->on_failure = goes_on ? SAVING_GOES_ON : SAVING_STOPS;
    *out = saving;
    return NULL;
}

const ComponentDef checkpoint_saving_default = {
    .kind = "checkpoint_saving",
    .variant = "default",
    .doc = "saves checkpoints during training",
    .fields = fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
