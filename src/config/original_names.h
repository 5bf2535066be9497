/* original_names.h - components of the original that are not here, or are called otherwise. */
#ifndef CONFIG_ORIGINAL_NAMES_H
#define CONFIG_ORIGINAL_NAMES_H
#include "base/error.h"

/* What a configuration with this component should know, or NULL where the original has no such
 * name either: what to write instead. `kind` NULL: of any kind. */
Error *original_name_answer(const char *kind, const char *variant);
#endif
