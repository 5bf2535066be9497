/* strategies.c - checkpoint_saving_strategy: every k steps, or the k most recent. */
#include "checkpoint/saving.h"
#include "config/builder.h"

typedef struct Settings {
    int64_t k, keep_every_n_steps;
} Settings;

static const Field every_fields[] = {
    FIELD_INT(Settings, k, NULL, 1, INFINITY,
              "a checkpoint is saved after every k steps in total; the run's checkpointing "
              "interval must fall "
              "on that step, too"),
    { 0 },
};

static const Field recent_fields[] = {
    FIELD_INT(
        Settings, k, NULL, -1, INFINITY,
        "newest checkpoints of the training to keep, those before a `resume` included; -1: all, "
        "0: save none",
        .flags = FIELD_STRICT),
    FIELD_INT(Settings, keep_every_n_steps, "0", 0, INFINITY,
              "checkpoints of multiples of so many steps are kept for ever, beside the newest; 0: "
              "none"),
    { 0 },
};

static Error *build_every(Builder *b, const void *settings, void **out)
{
    CheckpointStrategy *s = NEW(builder_arena(b), CheckpointStrategy);
    *s = (CheckpointStrategy){ .every = ((const Settings *)settings)->k, .keep = -1 };
    *out = s;
    return NULL;
}

static Error *build_recent(Builder *b, const void *settings, void **out)
{
    CheckpointStrategy *s = NEW(builder_arena(b), CheckpointStrategy);
    const Settings *from = settings;
    *s =
        (CheckpointStrategy){ .every = 1, .keep = from->k, .keep_every = from->keep_every_n_steps };
    *out = s;
    return NULL;
}

const ComponentDef checkpoint_saving_strategy_every_k_steps = {
    .kind = "checkpoint_saving_strategy",
    .variant = "save_every_k_steps_checkpointing_strategy",
    .doc = "saves after every k steps and deletes nothing",
    .fields = every_fields,
    .settings_size = sizeof(Settings),
    .build = build_every,
};

const ComponentDef checkpoint_saving_strategy_k_most_recent = {
    .kind = "checkpoint_saving_strategy",
    .variant = "save_k_most_recent_checkpoints_strategy",
    .doc = "saves at every checkpointing interval and keeps the k newest, and archives",
    .fields = recent_fields,
    .settings_size = sizeof(Settings),
    .build = build_recent,
};
