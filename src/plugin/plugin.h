/* plugin.h - components that come from outside of the program: as shared objects that a
 * configuration names, or from a program that uses the library. */
#ifndef PLUGIN_PLUGIN_H
#define PLUGIN_PLUGIN_H
#include "../include/modalities.h"
#include "config/registry.h"

/* From now on the registry takes what `plugins:` of a configuration names. */
void plugins_allow(Registry *r);
/* Adds all that a plugin brings, under its name in errors. Refuses another API with both numbers,
 * names that exist already, and tables that cannot be. */
Error *plugin_add(Registry *r, const ModalitiesPlugin *plugin, const char *name);
#endif
