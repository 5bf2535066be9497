/* gradient_clipper.c - gradient_clipper.fsdp1, fsdp2 and their logging_only forms. */
#include "optim/gradient_clipper.h"
#include "config/builder.h"

struct Mesh;
struct Model;

typedef struct Settings {
    double max_norm;
    int norm_type;
    ComponentList wrapped_model;
    struct Mesh *device_mesh;
} Settings;

static Error *build(Builder *b, const void *settings, void **out)
{
    static const int64_t norm_types[] = { 1, 2, 0 };
    const Settings *s = settings;
    GradientClipper *c = NEW(builder_arena(b), GradientClipper);
    *c = (GradientClipper){ .norm_type = norm_types[s->norm_type],
                            .max_norm = s->max_norm,
                            .models = s->wrapped_model };
    *out = c;
    return NULL;
}

static const char *const norms[] = { "1|P1_NORM", "2|P2_NORM", "inf|MAX_NORM", NULL };
/* clang-format off */
#define MAX_NORM  FIELD_FLOAT(Settings, max_norm, NULL, 0, INFINITY, "gradients with a larger norm are scaled down to it", .flags = FIELD_STRICT | FIELD_OPEN_MIN)
#define NORM_TYPE FIELD_CHOICE(Settings, norm_type, NULL, norms, "sum of absolutes, Euclidean, or largest absolute")
#define MODEL     FIELD_COMPONENTS(Settings, wrapped_model, "model", NULL, 0, 0, "whose gradients", .flags = FIELD_LIST_OR_ONE, .alias = "model_parts")
#define MESH      FIELD_COMPONENT(Settings, device_mesh, struct Mesh, "device_mesh", NULL, "the ranks over which the norm is taken", .no_effect = "there is one rank")
static const Field fsdp1_fields[] = { MAX_NORM, NORM_TYPE, MODEL, { 0 } };
static const Field fsdp1_logging_fields[] = { MODEL, NORM_TYPE, { 0 } };
static const Field fsdp2_fields[] = { MAX_NORM, NORM_TYPE, MODEL, MESH, { 0 } };
static const Field fsdp2_logging_fields[] = { NORM_TYPE, MODEL, MESH, { 0 } };
/* clang-format on */

const ComponentDef gradient_clipper_fsdp1 = {
    .kind = "gradient_clipper",
    .variant = "fsdp1",
    .also = "fsdp",
    .doc = "clips gradients by their norm",
    .fields = fsdp1_fields,
    .settings_size = sizeof(Settings),
    .build = build,
};

const ComponentDef gradient_clipper_fsdp1_logging_only = {
    .kind = "gradient_clipper",
    .variant = "fsdp1_logging_only",
    .doc = "measures the norm of the gradients",
    .fields = fsdp1_logging_fields,
    .settings_size = sizeof(Settings),
    .build = build,
};

const ComponentDef gradient_clipper_fsdp2 = {
    .kind = "gradient_clipper",
    .variant = "fsdp2",
    .doc = "clips gradients by their norm over all ranks",
    .fields = fsdp2_fields,
    .settings_size = sizeof(Settings),
    .build = build,
};

const ComponentDef gradient_clipper_fsdp2_logging_only = {
    .kind = "gradient_clipper",
    .variant = "fsdp2_logging_only",
    .doc = "measures the norm of the gradients over all ranks",
    .fields = fsdp2_logging_fields,
    .settings_size = sizeof(Settings),
    .build = build,
};
