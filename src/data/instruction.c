/* instruction.c - conversations to texts, one line at a time. */
#include "data/instruction.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "base/signal.h"
#include "data/bad_lines.h"
#include "data/progress.h"
#include "template/template.h"
#include "template/value_json.h"
#include <string.h>
#include <unistd.h>

enum { N_HASH_DIGITS = 7 };

typedef struct Conversion {
    const InstructionConfig *config;
    const Template *template;
    Value data; /* chat_template_data */
    NewFile file[N_PARTITIONS];
    Arena *scratch; /* of one line */
    Text line, chat;
    Mt19937 draws;
    BadLines bad;
    InstructionSummary summary;
} Conversion;

/* ---- names ---- */

/* All suffixes of a file's name, as pathlib has them: ".tar.gz"; a leading dot begins none. */
static const char *all_suffixes(const char *name)
{
    while (*name == '.') name++;
    const char *dot = strchr(name, '.');
    return dot && dot[1] ? dot : "";
}

static const char *stem_of(Arena *a, const char *path)
{
    return path_name(path_with_suffix(a, path, ""));
}

static void name_outputs(Arena *a, const InstructionSettings *s, const char *hash,
                         InstructionSummary *out)
{
    static const char *const name[] = { "train", "val", "test" };
    const Splitting *p = &s->split_config->splitting;
    const int64_t percentage[] = { p->train, p->val, p->test };
    const char *folder = arena_printf(a, "%s_%s", stem_of(a, s->src_path), hash);
    bool has_parent = strchr(s->dst_path, '/');
    out->folder = has_parent ? path_join(a, path_folder(a, s->dst_path), folder) : folder;
    for (int i = 0; i < N_PARTITIONS; i++) {
        const char *file = arena_printf(a, "%s_%s.%s%s", stem_of(a, s->dst_path), name[i], hash,
                                        all_suffixes(path_name(s->dst_path)));
        Partition *x = &out->partition[i];
        *x = (Partition){ .name = name[i],
                          .jsonl_path = path_join(a, out->folder, file),
                          .is_wanted = percentage[i] > 0 };
        x->index_path = path_with_suffix(a, x->jsonl_path, ".idx");
        x->pbin_path = path_with_suffix(a, x->jsonl_path, ".pbin");
        x->pack_config_path =
            path_join(a, out->folder, arena_printf(a, "pbin_config_%s.%s.yaml", name[i], hash));
    }
}

/* ---- one line ---- */

/* random.choices over the three names: the first whose sum of percentages exceeds the draw. */
static Partition *draw_partition(Conversion *c)
{
    const Splitting *p = &c->config->settings.split_config->splitting;
    double x = python_random(&c->draws) * 100.0;
    int i = x < (double)p->train ? 0 : x < (double)(p->train + p->val) ? 1 : 2;
    return &c->summary.partition[i];
}

static Error *map_role(const Conversion *c, Value message, const char *key)
{
    const StringMap *m = &c->config->instruction_data_transformation.role_mapping;
    const Value *role = value_map_get(message, str_of(key));
    if (!role) return NULL;
    if (role->kind != VALUE_TEXT)
        return error_new("'%s' of a message is %s where text is needed", key,
                         value_kind_name(*role));
    for (int64_t i = 0; i < m->n; i++) {
        if (!str_is(role->text, m->item[i].key)) continue;
        value_map_set(message, str_of(key), value_text(str_of(m->item[i].value)));
        return NULL;
    }
    Text known = { 0 };
    for (int64_t i = 0; i < m->n; i++) text_printf(&known, "%s%s", i ? ", " : "", m->item[i].key);
    Error *e = error_new("the %s '%.*s' is not in role_mapping, which has %s", key,
                         (int)role->text.len, role->text.ptr, known.len ? known.ptr : "no entry");
    text_free(&known);
    return e;
}

static Error *map_roles(const Conversion *c, Value messages)
{
    for (int64_t i = 0; i < messages.list->n; i++) {
        Value message = messages.list->item[i];
        if (message.kind != VALUE_MAP)
            return error_new("message %lld is %s where a mapping is needed", (long long)i + 1,
                             value_kind_name(message));
        TRY(map_role(c, message, "role"));
        TRY(map_role(c, message, "from"));
    }
    return NULL;
}

/* The line with mapped roles and its text, in c->line. */
static Error *convert_line(Conversion *c, Str line, int64_t *column)
{
    const char *key = c->config->settings.messages_key;
    Value entry;
    TRY(value_from_json(c->scratch, line, &entry, column));
    if (entry.kind != VALUE_MAP)
        return error_new("the line is %s where a mapping is needed", value_kind_name(entry));
    const Value *messages = value_map_get(entry, str_of(key));
    if (!messages) return error_new("messages_key '%s' is not in the line", key);
    if (messages->kind != VALUE_LIST)
        return error_new("'%s' is %s where a list of messages is needed", key,
                         value_kind_name(*messages));
    TRY(map_roles(c, *messages));
    const Variable variable[] = { { "messages", *messages }, { "chat_template_data", c->data } };
    text_clear(&c->chat);
    TRY(error_wrap(template_render(c->template, variable, 2, TEMPLATE_WORK, c->scratch, &c->chat),
                   "jinja2_chat_template"));
    value_map_set(entry, str_of("chat"), value_text_copy(c->scratch, &c->chat));
    Meter meter = { .work_left = INT64_MAX, .depth_left = MOST_VALUE_DEPTH };
    text_clear(&c->line);
    TRY(value_to_json(&meter, entry, &json_plain, &c->line));
    text_putc(&c->line, '\n');
    return NULL;
}

/* ---- the file ---- */

static Error *convert_lines(Conversion *c, Str text)
{
    const char *p = text.ptr, *end = p + text.len;
    Progress progress = progress_start("rendering", (int64_t)text.len, PROGRESS_BYTES);
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end;
        Str line = { p, (size_t)(stop - p) };
        Partition *to = draw_partition(c);
        int64_t column = -1;
        c->summary.n_lines++;
        Error *e = convert_line(c, line, &column);
        if (e) {
            TRY(bad_lines_add(&c->bad, c->config->settings.src_path, c->summary.n_lines,
                              p - text.ptr, line, column, e));
        } else {
            fwrite(c->line.ptr, 1, c->line.len, c->file[to - c->summary.partition].stream);
            to->n_lines++;
        }
        arena_clear(c->scratch);
        p = newline ? newline + 1 : end;
        progress_update(&progress, p - text.ptr);
        if (signal_stop_requested()) return error_new("stopped by a signal; nothing was written");
    }
    progress_end(&progress);
    return NULL;
}

static Error *convert_file(Conversion *c)
{
    FileMap map;
    TRY(file_map(c->config->settings.src_path, &map));
    Error *e = convert_lines(c, (Str){ map.ptr, map.len });
    file_unmap(&map);
    return e;
}

static Error *create_files(Conversion *c)
{
    TRY(make_directories(c->summary.folder));
    for (int i = 0; i < N_PARTITIONS; i++)
        if (c->summary.partition[i].is_wanted)
            TRY(file_create(c->summary.partition[i].jsonl_path, &c->file[i]));
    return NULL;
}

static Error *write_outputs(Arena *a, Conversion *c, const char *hash, Str config)
{
    TRY(create_files(c));
    TRY(convert_file(c));
    for (int i = 0; i < N_PARTITIONS; i++)
        if (c->summary.partition[i].is_wanted) TRY(file_commit(&c->file[i]));
    const char *copy = arena_printf(a, "instruction_chat_template_config.%s.yaml", hash);
    return file_write(path_join(a, c->summary.folder, copy), config.ptr, config.len);
}

static Value value_of_yaml(Arena *a, const Yaml *y)
{
    Value *item, v;
    switch (y->type) {
    case YAML_NULL:
        return value_none();
    case YAML_BOOL:
        return value_bool(y->boolean);
    case YAML_INT:
        if (y->is_too_large) return (Value){ .kind = VALUE_BIG, .text = str_of(y->text) };
        return value_int(y->integer);
    case YAML_FLOAT:
        return value_float(y->number);
    case YAML_LIST:
        v = value_list(a, VALUE_LIST, y->n, &item);
        for (int64_t i = 0; i < y->n; i++) item[i] = value_of_yaml(a, y->item[i]);
        return v;
    case YAML_MAP:
        v = value_map(a);
        for (int64_t i = 0; i < y->n; i++)
            value_map_set(v, str_of(y->key[i]->text), value_of_yaml(a, y->item[i]));
        return v;
    default:
        return value_text((Str){ y->text, y->text_len });
    }
}

static Error *convert(Arena *a, Conversion *c, const char *config_path)
{
    const InstructionConfig *config = c->config;
    char hash[65];
    Str bytes;
    Template *t;
    TRY(error_wrap(template_parse(a, str_of(config->jinja2_chat_template), true, &t),
                   "%s: jinja2_chat_template", config_path));
    c->template = t;
    c->data = value_of_yaml(a, config->chat_template_data);
    TRY(file_read(a, config_path, &bytes));
    sha256_hex(bytes.ptr, bytes.len, hash);
    hash[N_HASH_DIGITS] = 0;
    name_outputs(a, &config->settings, hash, &c->summary);
    int64_t seed = config->settings.split_config->seed;
    mt19937_seed_python(&c->draws, (uint64_t)(seed < 0 ? -seed : seed));
    TRY(bad_lines_open((BadLinePolicy)config->settings.on_bad_line,
                       config->settings.bad_line_report, &c->bad));
    Error *e = write_outputs(a, c, hash, bytes);
    for (int i = 0; i < N_PARTITIONS; i++) file_abandon(&c->file[i]);
    c->summary.n_bad = c->bad.n;
    if (!e) bad_lines_tell(&c->bad, config->settings.src_path, c->summary.n_lines);
    e = error_join(e, bad_lines_close(&c->bad, !e));
    if (e) rmdir(c->summary.folder); /* unless something is in it */
    return e;
}

Error *instruction_convert(Arena *a, const InstructionConfig *config, const char *config_path,
                           InstructionSummary *out)
{
    Conversion c = { .config = config, .scratch = arena_new() };
    Error *e = convert(a, &c, config_path);
    arena_free(c.scratch);
    text_free(&c.line);
    text_free(&c.chat);
    *out = c.summary;
    return e;
}
