/* instruction_settings.c - table of the configuration of data prepare_instruction_tuning_data. */
#include "data/instruction.h"

/* clang-format off */
static const Field splitting_fields[] = {
    FIELD_INT(SplitShares, train, NULL, 0, 100, "percentage of the lines for training"),
    FIELD_INT(SplitShares, val, NULL, 0, 100, "percentage for validation"),
    FIELD_INT(SplitShares, test, NULL, 0, 100, "percentage for tests; the three make 100"),
    { 0 },
};
static const Field split_fields[] = {
    FIELD_STRUCT(SplitConfig, splitting, SplitShares, splitting_fields, NULL, "sizes of the parts"),
    FIELD_INT(SplitConfig, seed, NULL, 0, 0, "of the draw for each line (Python's random)"),
    { 0 },
};
static const Field settings_fields[] = {
    FIELD_PATH(InstructionSettings, src_path, NULL, "conversations, one JSON object per line", .flags = FIELD_EXISTS),
    FIELD_PATH(InstructionSettings, dst_path, NULL, "gives folder, stem and suffix of the outputs", .role = PATH_BEGINNING),
    FIELD_STRING(InstructionSettings, messages_key, NULL, "key of the list of messages in a line"),
    FIELD_PATH(InstructionSettings, pbin_creation_config_file_path, "null", "configuration of data pack_encoded_data for the texts; must be given", .flags = FIELD_EXISTS),
    FIELD_STRUCT(InstructionSettings, split_config, SplitConfig, split_fields, "null", "how lines are shared out; must be given"),
    FIELD_CHOICE(InstructionSettings, on_bad_line, "stop", bad_line_policies, "what a line that is no JSON, has no messages, an unknown role, or that the template refuses, does"),
    FIELD_INT(InstructionSettings, max_line_bytes, "1073741824", 1, INFINITY, "a longer line is a bad line"),
    FIELD_PATH(InstructionSettings, bad_line_report, "null", "file for all lines that were left out, as JSON lines", .role = PATH_WRITTEN),
    { 0 },
};
static const Field transformation_fields[] = {
    FIELD_MAP(InstructionTransformation, role_mapping, StringMap, &field_string_entry, NULL, "replaces the values of role and from in each message"),
    { 0 },
};
const Field instruction_config_fields[] = {
    FIELD_STRUCT(InstructionConfig, settings, InstructionSettings, settings_fields, NULL, "files and how lines are shared out", .flags = FIELD_IGNORE_OTHERS),
    FIELD_STRUCT(InstructionConfig, instruction_data_transformation, InstructionTransformation, transformation_fields, NULL, "changes of the messages", .flags = FIELD_IGNORE_OTHERS),
    FIELD_STRING(InstructionConfig, jinja2_chat_template, NULL, "makes the text of a conversation; sees messages and chat_template_data"),
    FIELD_ANY(InstructionConfig, chat_template_data, NULL, "values for the template"),
    { 0 },
};
/* clang-format on */

Error *instruction_settings_check(const InstructionConfig *c)
{
    const InstructionSettings *s = &c->settings;
    if (!s->split_config)
        return error_new("settings.split_config is null; it must say how lines are shared out");
    if (!s->pbin_creation_config_file_path)
        return error_new("settings.pbin_creation_config_file_path is null; it must name the "
                         "configuration that packs the texts");
    const SplitShares *p = &s->split_config->splitting;
    if (p->train + p->val + p->test != 100)
        return error_new("settings.split_config.splitting: %lld + %lld + %lld is %lld; train, "
                         "val and test must make 100",
                         (long long)p->train, (long long)p->val, (long long)p->test,
                         (long long)p->train + (long long)p->val + (long long)p->test);
    if (c->chat_template_data->type != YAML_MAP)
        return error_new("chat_template_data is %s; it must be a mapping",
                         yaml_type_name(c->chat_template_data));
    return NULL;
}
