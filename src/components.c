/* components.c - the list of all built-in components, one line each, sorted. */
#include "components.h"

/* LIST names each component once; it is expanded to declarations and to the table. */
#define LIST(COMPONENT)

#define DECLARE(name) extern const ComponentDef name;
#define POINTER(name) &name,
LIST(DECLARE)
const ComponentDef *const built_in_components[] = { LIST(POINTER) NULL };

Error *components_registry(Arena *a, Registry **out)
{
    *out = registry_new(a);
    for (int i = 0; built_in_components[i]; i++) TRY(registry_add(*out, built_in_components[i]));
    return NULL;
}
