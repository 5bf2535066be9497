/* execution.c - checkpoint_saving and checkpoint_saving_execution: where and under which names. */
#include "base/log.h"
#include "checkpoint/saving.h"
#include "config/builder.h"
#include <string.h>

static const Field execution_fields[] = {
    FIELD_PATH(CheckpointExecution, checkpoint_path, NULL,
               "folder that the checkpoint folders lie in; made when missing",
               .role = PATH_BEGINNING),
    FIELD_INT(CheckpointExecution, global_rank, NULL, 0, INFINITY,
              "rank of this process; rank 0 writes", .flags = FIELD_STRICT),
    FIELD_STRING(CheckpointExecution, experiment_id, NULL,
                 "part of the name of each checkpoint folder"),
    { 0 },
};

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
    const char *variant = builder_self(b)->variant;
    x->is_fsdp1 = variant[0] == 'f';
    if (x->global_rank == 0)
        log_info("checkpoint_saving_execution.%s: checkpoints are written in this program's own "
                 "format, under the "
                 "names of %s",
                 variant, x->is_fsdp1 ? "FSDP2" : "the original");
    *out = x;
    return NULL;
}

const ComponentDef checkpoint_saving_execution_dcp = {
    .kind = "checkpoint_saving_execution",
    .variant = "dcp",
    .doc =
        "one folder per checkpoint; last_checkpoint_info.json names the last one for `warmstart`",
    .fields = execution_fields,
    .settings_size = sizeof(CheckpointExecution),
    .check = check_execution,
    .build = build_execution,
};

const ComponentDef checkpoint_saving_execution_fsdp1 = {
    .kind = "checkpoint_saving_execution",
    .variant = "fsdp1",
    .doc = "as dcp; last_checkpoint_info.json has the keys of FSDP1 as well",
    .fields = execution_fields,
    .settings_size = sizeof(CheckpointExecution),
    .check = check_execution,
    .build = build_execution,
};

typedef struct Settings {
    CheckpointStrategy *checkpoint_saving_strategy;
    CheckpointExecution *checkpoint_saving_execution;
} Settings;

static const Field fields[] = {
    FIELD_COMPONENT(Settings, checkpoint_saving_strategy, CheckpointStrategy,
                    "checkpoint_saving_strategy", NULL, "when to save and what to keep"),
    FIELD_COMPONENT(Settings, checkpoint_saving_execution, CheckpointExecution,
                    "checkpoint_saving_execution", NULL, "where to save"),
    { 0 },
};

static Error *build(Builder *b, const void *settings, void **out)
{
    const Settings *s = settings;
    *out = checkpoint_saving_new(builder_arena(b), s->checkpoint_saving_strategy,
                                 s->checkpoint_saving_execution);
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
