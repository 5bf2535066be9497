/* packing.h - packing as a resolved configuration says, for the commands that pack. */
#ifndef CLI_PACKING_H
#define CLI_PACKING_H
#include "config/yaml.h"
#include "data/existing_file.h"
#include "train/crew.h"

/* Checks the tree, which was read from this file, builds its tokenizer, packs and tells what was
 * done. The ranks of `crew` share the work. */
Error *pack_as_configured(Arena *a, const char *config_path, const Yaml *root,
                          ExistingPolicy policy, const Crew *crew);
/* Packs the source again and compares with the packed file that is there. */
Error *verify_as_configured(Arena *a, const char *config_path, const Yaml *root);
#endif
