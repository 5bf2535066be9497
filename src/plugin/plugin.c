/* plugin.c - takes a plugin's components into a registry, and opens the shared objects that a
 * configuration names. */
#include "plugin/plugin.h"
#include "base/file.h"
#include "plugin/parts.h"
#include <dlfcn.h>
#include <inttypes.h>
#include <string.h>

/* What the plugins of one registry have brought. */
typedef struct Plugins {
    Arena *arena;
    Registry *registry;
    PluginOps ops;
    const char **path; /* of those that were opened, absolute */
    int64_t n_paths, cap_paths;
} Plugins;

static Error *add_ops(Plugins *p, const ModalitiesOp *const *op)
{
    for (; op && *op; op++) {
        PluginOp *made;
        TRY(plugin_op_new(p->arena, *op, &made));
        if (plugin_op_find(&p->ops, (*op)->name))
            return error_new("op %s exists already", (*op)->name);
        p->ops.item = arena_grow(p->arena, p->ops.item, p->ops.n, &p->ops.cap, sizeof(PluginOp *));
        p->ops.item[p->ops.n++] = made;
    }
    return NULL;
}

static Error *add_components(Plugins *p, const ModalitiesPlugin *from)
{
    const ComponentDef *def;
    for (int i = 0; from->optimizers && from->optimizers[i]; i++) {
        TRY(plugin_optimizer(p->arena, from->optimizers[i], &def));
        TRY(registry_add(p->registry, def));
    }
    for (int i = 0; from->schedulers && from->schedulers[i]; i++) {
        TRY(plugin_scheduler(p->arena, from->schedulers[i], &def));
        TRY(registry_add(p->registry, def));
    }
    for (int i = 0; from->models && from->models[i]; i++) {
        TRY(plugin_model(p->arena, from->models[i], &p->ops, &def));
        TRY(registry_add(p->registry, def));
    }
    for (int i = 0; from->collators && from->collators[i]; i++) {
        TRY(plugin_collator(p->arena, from->collators[i], &def));
        TRY(registry_add(p->registry, def));
    }
    return NULL;
}

/* The number comes first in every version of the struct. */
static Error *add(Plugins *p, const ModalitiesPlugin *from)
{
    if (from->api != MODALITIES_API)
        return error_new("it is built for version %" PRId64 " of the interface, and this is "
                         "version %d: build it again with the modalities.h of this version",
                         from->api, MODALITIES_API);
    TRY(add_ops(p, from->ops));
    return add_components(p, from);
}

/* Where the library was loaded by a program that keeps its names to itself (Python's ctypes), the
 * plugin must find them all the same. */
static void offer_own_symbols(void)
{
    Dl_info info;
    if (dladdr((void *)modalities_enter, &info) && info.dli_fname)
        dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

static bool is_open(const Plugins *p, const char *path)
{
    for (int64_t i = 0; i < p->n_paths; i++)
        if (!strcmp(p->path[i], path)) return true;
    return false;
}

static Error *open_plugin(Plugins *p, const char *given)
{
    const char *path = path_absolute(p->arena, given);
    if (is_open(p, path)) return NULL;
    if (!file_exists(path)) return error_new("there is no such file");
    offer_own_symbols();
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return error_new("it cannot be loaded: %s", dlerror());
    const ModalitiesPlugin *plugin = dlsym(library, "modalities_plugin");
    if (!plugin)
        return error_new("it is no plugin: it exports no modalities_plugin (docs/library.md)");
    p->path = arena_grow(p->arena, p->path, p->n_paths, &p->cap_paths, sizeof *p->path);
    p->path[p->n_paths++] = path;
    return add(p, plugin);
}

static void load(void *context, const Yaml *root, Problems *problems)
{
    const Yaml *list = yaml_get(root, "plugins");
    if (!list || list->is_hole) return;
    if (list->type != YAML_LIST) {
        problem_add(problems, list, NULL, "list_type", "%s; allowed: a list of shared objects",
                    yaml_show(problems->arena, list));
        return;
    }
    for (int64_t i = 0; i < list->n; i++) {
        const Yaml *y = list->item[i];
        if (y->is_hole) continue;
        Error *e = y->type == YAML_STRING ? open_plugin(context, y->text)
                                          : error_new("allowed: the path of a shared object");
        if (!e) continue;
        problem_add(problems, y, NULL, "plugin", "%s: %s", yaml_show(problems->arena, y),
                    error_text(e));
        error_free(e);
    }
}

static Plugins *plugins_of(Registry *r)
{
    Plugins *p = registry_loader(r);
    if (p) return p;
    p = NEW(registry_arena(r), Plugins);
    *p = (Plugins){ .arena = registry_arena(r), .registry = r };
    registry_set_loader(r, load, p);
    return p;
}

void plugins_allow(Registry *r)
{
    plugins_of(r);
}

Error *plugin_add(Registry *r, const ModalitiesPlugin *plugin, const char *name)
{
    return error_wrap(add(plugins_of(r), plugin), "plugin %s", name);
}
