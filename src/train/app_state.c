/* app_state.c - app_state.raw and app_state.dcp: what is trained, and from which checkpoint it goes
 * on. */
#include "config/builder.h"
#include "train/job.h"

typedef struct RawSettings {
    Model *model;
    Optimizer *optimizer;
    Scheduler *lr_scheduler;
} RawSettings;

typedef struct DcpSettings {
    AppState *raw_app_state;
    const char *checkpoint_dir_path;
} DcpSettings;

static Error *build_raw(Builder *b, const void *settings, void **out)
{
    const RawSettings *s = settings;
    AppState *a = NEW(builder_arena(b), AppState);
    *a = (AppState){ .model = s->model, .optimizer = s->optimizer, .scheduler = s->lr_scheduler };
    *out = a;
    return NULL;
}

static Error *build_dcp(Builder *b, const void *settings, void **out)
{
    (void)b;
    const DcpSettings *s = settings;
    if (s->raw_app_state->checkpoint_path)
        return error_new("the state is loaded already, from %s", s->raw_app_state->checkpoint_path);
    s->raw_app_state->checkpoint_path = s->checkpoint_dir_path;
    *out = s->raw_app_state;
    return NULL;
}

/* clang-format off */
static const Field raw_fields[] = {
    FIELD_COMPONENT(RawSettings, model, Model, "model", NULL, "the model", .flags = FIELD_MAPS),
    FIELD_COMPONENT(RawSettings, optimizer, Optimizer, "optimizer", NULL, "its optimizer"),
    FIELD_COMPONENT(RawSettings, lr_scheduler, Scheduler, "scheduler", "null", "its learning-rate schedule; without one the rate is constant"),
    { 0 },
};
static const Field dcp_fields[] = {
    FIELD_COMPONENT(DcpSettings, raw_app_state, AppState, "app_state", NULL, "what is to be filled"),
    FIELD_PATH(DcpSettings, checkpoint_dir_path, NULL, "folder of the checkpoint"),
    { 0 },
};
/* clang-format on */

const ComponentDef app_state_raw = {
    .kind = "app_state",
    .variant = "raw",
    .doc = "model, optimizer and schedule with fresh state",
    .fields = raw_fields,
    .settings_size = sizeof(RawSettings),
    .build = build_raw,
};

const ComponentDef app_state_dcp = {
    .kind = "app_state",
    .variant = "dcp",
    .doc = "model, optimizer and schedule with the state of a checkpoint",
    .fields = dcp_fields,
    .settings_size = sizeof(DcpSettings),
    .build = build_dcp,
};
