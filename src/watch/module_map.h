/* module_map.h - which values enter and leave the modules of a model, "transformer.h.0.attn". */
#ifndef WATCH_MODULE_MAP_H
#define WATCH_MODULE_MAP_H
#include "graph/graph.h"

typedef enum ModuleEvent {
    FORWARD_INPUT,   /* a value that the module reads and did not make */
    FORWARD_WEIGHTS, /* a parameter of the module itself; `name` is the parameter's */
    FORWARD_OUTPUT,  /* a value that it makes and others read */
    BACKWARD_OUTPUT, /* the gradient of such a value */
} ModuleEvent;

/* To be looked at when node `node` has run: input or result `operand` of it. */
typedef struct ModuleSight {
    int64_t node;
    ModuleEvent event;
    const char *name; /* of the module, or of the parameter */
    bool is_input;    /* of the node */
    int operand;
} ModuleSight;

typedef struct ModuleMap {
    const Node *first;  /* with which a forward pass begins */
    ModuleSight *sight; /* in the order of the nodes */
    int64_t n, cap;
} ModuleMap;

/* What passes fused away (the logits after a fused loss) is not seen. */
ModuleMap *module_map_new(Arena *a, const Graph *g);
/* "forward_input", ... */
const char *module_event_name(ModuleEvent e);
#endif
