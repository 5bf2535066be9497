/* data_prepare_instruction_tuning_data.c - `data prepare_instruction_tuning_data`: conversations to
 * packed texts. */
#include "base/file.h"
#include "base/log.h"
#include "base/signal.h"
#include "command.h"
#include "components.h"
#include "config/config.h"
#include "config/field_paths.h"
#include "config/yaml_emit.h"
#include "data/instruction.h"
#include "data/jsonl.h"
#include "data/pack_settings.h"
#include "data_rewriting.h"
#include "packing.h"

typedef struct Options {
    const char *config_file_path;
    StringList set;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, config_file_path, NULL,
               "YAML file with settings, role mapping and chat template", .flags = FIELD_EXISTS),
    FIELD_STRINGS(Options, set, "[]", 0, 0, "override: key.path=value"),
    { 0 },
};

static Error *load(Arena *a, const char *path, StringList set, Yaml **out)
{
    Rank rank;
    TRY(rank_of_process(&rank));
    const ResolverContext context = { .rank = &rank, .config_file_path = path };
    return config_load(a, path, set, &context, out);
}

/* Files that the configuration for packing reads, and its report. */
static Error *add_pack_paths(Arena *a, const Registry *r, const char *path, PathRoles *to)
{
    static const Field none[] = { { 0 } };
    Yaml *root;
    TRY(load(a, path, (StringList){ 0 }, &root));
    Builder *b = builder_new(a, r, root, NULL);
    error_free(builder_validate_all(b)); /* told when it is used */
    builder_paths_add(to, b, none);
    const Yaml *settings = yaml_get(root, "settings");
    const Yaml *report = settings ? yaml_get(settings, "bad_line_report") : NULL;
    if (report && report->type == YAML_STRING)
        path_roles_add(to, PATH_WRITTEN, "the report of packing", report->text);
    return NULL;
}

/* No output is a file that is read. */
static Error *check_paths(Arena *a, const Builder *b, const Registry *r, const Options *o,
                          const InstructionConfig *config)
{
    PathRoles *roles = path_roles_new(a);
    path_roles_add(roles, PATH_READ, "--config_file_path", o->config_file_path);
    builder_paths_add(roles, b, instruction_config_fields);
    TRY(instruction_paths_add(a, config, o->config_file_path, roles));
    TRY(add_pack_paths(a, r, config->settings.pbin_creation_config_file_path, roles));
    return path_roles_check(roles);
}

static Error *read_config(Arena *a, const Options *o, InstructionConfig *out)
{
    Yaml *root;
    Registry *r;
    TRY(load(a, o->config_file_path, o->set, &root));
    TRY(components_registry(a, &r));
    Builder *b = builder_new(a, r, root, NULL);
    TRY(builder_validate(b, instruction_config_fields, out));
    TRY(error_wrap(instruction_settings_check(out), "%s", o->config_file_path));
    return check_paths(a, b, r, o, out);
}

/* The pack configuration with the files of one partition; also written beside them. */
static Error *write_pack_config(Arena *a, const char *from, const Partition *p, Yaml **out)
{
    TRY(load(a, from, (StringList){ 0 }, out));
    Yaml *settings = yaml_get(*out, "settings");
    if (!settings || settings->type != YAML_MAP)
        return error_usage("%s: there is no mapping 'settings'", from);
    yaml_set(a, settings, "src_path", yaml_string(a, p->jsonl_path));
    yaml_set(a, settings, "index_path", yaml_string(a, p->index_path));
    yaml_set(a, settings, "dst_path", yaml_string(a, p->pbin_path));
    Text text = { 0 };
    yaml_emit_unicode(*out, &text);
    Error *e = file_write(p->pack_config_path, text.ptr, text.len);
    text_free(&text);
    return e;
}

/* Index and packed file, but what an interrupted run has made of them. */
static Error *pack_partition(Arena *a, const InstructionSettings *s, const Partition *p,
                             Resumable *file)
{
    IndexSummary index;
    Yaml *pack;
    if (!p->n_lines) {
        log_warning("%s: no line was drawn for %s, so nothing is packed", p->jsonl_path, p->name);
        return NULL;
    }
    TRY(write_pack_config(a, s->pbin_creation_config_file_path, p, &pack));
    if (!resumable_is_made(file, p->index_path)) {
        TRY(jsonl_write_index(p->jsonl_path, p->index_path, NULL, &index));
        TRY(resumable_note_made(file, p->index_path));
    }
    if (resumable_is_made(file, p->pbin_path)) return NULL;
    TRY(pack_as_configured(a, s->pbin_creation_config_file_path, pack, EXISTING_OVERRIDE,
                           &(Crew){ .rank = &rank_alone }));
    return resumable_note_made(file, p->pbin_path);
}

static Error *pack_all(Arena *a, const InstructionSettings *s, const InstructionSummary *summary,
                       Resumable *file)
{
    const Partition *p = summary->partition;
    log_info("%s: %lld conversations: %lld for training, %lld for validation, %lld for tests",
             summary->folder, (long long)(summary->n_lines - summary->n_bad),
             (long long)p[0].n_lines, (long long)p[1].n_lines, (long long)p[2].n_lines);
    for (int i = 0; i < N_PARTITIONS; i++)
        if (p[i].is_wanted) TRY(pack_partition(a, s, &p[i], file));
    return NULL;
}

static Error *run(Arena *a, const void *given)
{
    const Options *o = given;
    InstructionConfig config = { 0 };
    InstructionSummary summary;
    Resumable *file;
    TRY(read_config(a, o, &config));
    signal_catch();
    TRY(instruction_convert(a, &config, o->config_file_path, &summary, &file));
    Error *e = pack_all(a, &config.settings, &summary, file);
    return e ? resumable_abandon(file, e) : resumable_commit(file);
}

const Command command_data_prepare_instruction_tuning_data = {
    .group = "data",
    .name = "prepare_instruction_tuning_data",
    .doc = "Renders conversations by a chat template, shares them out and packs them.",
    .details = "For train, val and test a JSONL file with the text of each conversation under "
               "\"chat\", its index and its .pbin file are written to a folder whose name holds "
               "the hash of the configuration; files that are there are replaced. Templates are "
               "those of Jinja as far as docs/templates.md lists them. All cores render; memory is "
               "bounded by 8 blocks of 64 KiB of lines, or as many longer lines, per core. Files "
               "appear when they are complete; " GOES_ON,
    .examples = "modalities data prepare_instruction_tuning_data --config_file_path chat.yaml",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
