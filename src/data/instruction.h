/* instruction.h - turns conversations into texts by a chat template and shares them out into train,
 * val and test files: the first half of data prepare_instruction_tuning_data. */
#ifndef DATA_INSTRUCTION_H
#define DATA_INSTRUCTION_H
#include "base/path_roles.h"
#include "config/field.h"
#include "data/bad_line.h"
#include "data/resumable.h"

/* Percentages of the lines. */
typedef struct SplitShares {
    int64_t train, val, test;
} SplitShares;

typedef struct SplitConfig {
    SplitShares splitting;
    int64_t seed;
} SplitConfig;

typedef struct InstructionSettings {
    const char *src_path, *dst_path, *messages_key;
    const char *pbin_creation_config_file_path;
    const SplitConfig *split_config;
    int on_bad_line;             /* BadLinePolicy */
    const char *bad_line_report; /* NULL: none */
    int64_t max_line_bytes;
} InstructionSettings;

typedef struct InstructionTransformation {
    StringMap role_mapping;
} InstructionTransformation;

/* The top-level keys of the configuration. */
typedef struct InstructionConfig {
    InstructionSettings settings;
    InstructionTransformation instruction_data_transformation;
    const char *jinja2_chat_template;
    const Yaml *chat_template_data;
} InstructionConfig;

/* For builder_validate and builder_build. */
extern const Field instruction_config_fields[];
/* Rules over several settings; what the table lets be null but must be given. */
Error *instruction_settings_check(const InstructionConfig *c);

enum { N_PARTITIONS = 3 };

/* One output. Paths are relative to where dst_path is. */
typedef struct Partition {
    const char *name; /* "train", "val", "test" */
    const char *jsonl_path, *index_path, *pbin_path, *pack_config_path;
    int64_t n_lines;
    bool is_wanted; /* its percentage is not 0 */
} Partition;

typedef struct InstructionSummary {
    const char *folder;
    Partition partition[N_PARTITIONS];
    int64_t n_lines, n_bad;
} InstructionSummary;

/* The files that this makes, and what is made of them. */
Error *instruction_paths_add(Arena *a, const InstructionConfig *c, const char *config_path,
                             PathRoles *to);
/* Writes, for each partition with a percentage above 0, the lines of src_path that are drawn for it
 * (as Python's random.choices draws) with mapped roles and the rendered text under "chat"; and a
 * copy of the configuration, whose hash is part of all names. All cores render; memory stays below
 * 8 blocks of 64 KiB of lines (or 8 longer lines), and what becomes of them, per core. Nothing
 * appears before all lines are through; an interrupted run is continued. *file is for noting what
 * the caller makes of the lines; the caller commits or abandons it, unless this fails. */
Error *instruction_convert(Arena *a, const InstructionConfig *c, const char *config_path,
                           InstructionSummary *out, Resumable **file);
#endif
