/* pack_settings.c - tables of `tokenizer` and `settings` of data pack_encoded_data. */
#include "data/pack_settings.h"

/* clang-format off */
#define OF_SPEED(m, def, text) FIELD_INT(PackSettings, m, def, 1, INFINITY, text, .flags = FIELD_STRICT, .no_effect = "it only changes the speed")
static const Field settings_fields[] = {
    FIELD_PATH(PackSettings, src_path, NULL, "JSON lines: a file (plain, .gz or .zst), a folder, a pattern as data/*.jsonl, or - for standard input", .flags = FIELD_INPUT, .role = PATH_READ_TEXTS),
    FIELD_PATH(PackSettings, dst_path, "null", "the .pbin file to write; must be given", .role = PATH_WRITTEN),
    FIELD_PATH(PackSettings, index_path, "null", "index of src_path; null: beside a plain file, with suffix .idx; other inputs need none", .flags = FIELD_EXISTS),
    FIELD_STRING(PackSettings, jq_pattern, NULL, "jq expression that finds the text in a line"),
    OF_SPEED(num_cpus, "${node_env:num_cpus}", "worker threads"),
    FIELD_STRING(PackSettings, eod_token, NULL, "token that ends every document"),
    OF_SPEED(processing_batch_size, NULL, "lines that a worker takes at once"),
    OF_SPEED(raw_samples_queue_size, NULL, "batches on their way beside one per worker; the next number is added"),
    OF_SPEED(processed_samples_queue_size, NULL, "the same; batches wait for a worker or to be written"),
    FIELD_CHOICE(PackSettings, on_bad_line, "stop", bad_line_policies, "what a line that is no JSON or has no text does"),
    FIELD_INT(PackSettings, max_line_bytes, "1073741824", 1, INFINITY, "a longer line is a bad line", .flags = FIELD_STRICT),
    FIELD_PATH(PackSettings, bad_line_report, "null", "file for all lines that were left out, as JSON lines", .role = PATH_WRITTEN),
    { 0 },
};
const Field pack_config_fields[] = {
    FIELD_COMPONENT(PackConfig, tokenizer, Tokenizer, "tokenizer", NULL, "makes tokens of texts"),
    FIELD_STRUCT(PackConfig, settings, PackSettings, settings_fields, NULL, "what to pack", .flags = FIELD_IGNORE_OTHERS),
    { 0 },
};
/* clang-format on */

Error *pack_settings_check(const PackSettings *s)
{
    if (!s->dst_path) return error_new("settings.dst_path is missing: the .pbin file to write");
    return NULL;
}
