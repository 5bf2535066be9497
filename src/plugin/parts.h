/* parts.h - what the files of this folder share: a plugin's tables as those of the program. */
#ifndef PLUGIN_PARTS_H
#define PLUGIN_PARTS_H
#include "../include/modalities.h"
#include "config/builder.h"
#include "graph/op.h"

/* Bytes that the program's own settings may take in front of a plugin's; operands of an op. */
enum { OWN_SETTINGS = 128, MAX_OPERANDS = 8 };

/* The program's rows (end with an empty one), then the plugin's, after OWN_SETTINGS bytes. */
Error *plugin_fields(Arena *a, const Field *own, const ModalitiesSetting *settings, size_t size,
                     const Field **out);
/* `own` with a text for `doc`, and with the plugin's rows after its own (`fields` NULL: none). */
Error *plugin_component(Arena *a, ComponentDef own, const ModalitiesSetting *settings,
                        size_t settings_size, ComponentDef *out);
/* The plugin's part of settings that were read by such a table. */
const void *plugin_settings(const void *settings);

/* A plugin's op as two of the program's, the second for its gradient. */
typedef struct PluginOp {
    OpDef forward, backward;
    const ModalitiesOp *from;
} PluginOp;
Error *plugin_op_new(Arena *a, const ModalitiesOp *from, PluginOp **out);
/* A tensor of a launch as a plugin sees it. */
ModalitiesTensor plugin_tensor(const Tensor *t);

/* All ops of the plugins of one registry, by name. */
typedef struct PluginOps {
    PluginOp **item;
    int64_t n, cap;
} PluginOps;

/* Each gives a component that stays in the arena. */
Error *plugin_optimizer(Arena *a, const ModalitiesOptimizer *from, const ComponentDef **out);
Error *plugin_scheduler(Arena *a, const ModalitiesScheduler *from, const ComponentDef **out);
Error *plugin_model(Arena *a, const ModalitiesModel *from, const PluginOps *ops,
                    const ComponentDef **out);
Error *plugin_collator(Arena *a, const ModalitiesCollator *from, const ComponentDef **out);

/* What stands behind the opaque type. */
struct ModalitiesGraph {
    Graph *graph;
    const PluginOps *ops;
};
ModalitiesGraph plugin_graph(Graph *g, const PluginOps *ops);
/* An op of a plugin or of the program, or NULL. */
const OpDef *plugin_op_find(const PluginOps *ops, const char *name);
#endif
