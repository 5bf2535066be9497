/* wandb_file.c - writes records of wandb's protocol into its log format.
 *
 * The file is a log as LevelDB's: blocks of 32 KiB, in which a record is whole (1) or in pieces (2
 * first, 3 middle, 4 last), each with checksum, length and kind. A record is a message of
 * wandb_internal.proto; the numbers of its fields stand below. */
#include "monitor/wandb_file.h"
#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "config/yaml_emit.h"
#include "monitor/protobuf.h"
#include <dirent.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

enum { BLOCK = 32768, HEAD = 7, WHOLE = 1, FIRST = 2, MIDDLE = 3, LAST = 4 };
enum {
    RECORD_NUM = 1,
    RECORD_HISTORY = 2,
    RECORD_CONFIG = 5,
    RECORD_RUN = 17,
    RECORD_EXIT = 18,
    RECORD_HEADER = 21
};
enum { ITEM_KEY = 1, ITEM_NESTED_KEY = 2, ITEM_JSON = 16 };
enum { HISTORY_ITEM = 1, HISTORY_STEP = 2, STEP_NUM = 1 };
enum { CONFIG_UPDATE = 1 };
enum { RUN_ID = 1, RUN_ENTITY = 2, RUN_PROJECT = 3, RUN_CONFIG = 4, RUN_NAME = 8, RUN_START = 17 };
enum { HEADER_VERSION = 1, VERSION_PRODUCER = 1, VERSION_MIN_CONSUMER = 2 };

struct WandbFile {
    const char *path, *id;
    int64_t size, n_records;
    json_t *pending; /* the row of the step that is not over yet */
};

/* ---- the log ---- */

static void put_piece(Text *t, int kind, const char *bytes, size_t n)
{
    char type = (char)kind;
    uint32_t crc = (uint32_t)crc32(0, (const Bytef *)&type, 1);
    if (n) crc = (uint32_t)crc32(crc, (const Bytef *)bytes, (uInt)n);
    uint16_t length = (uint16_t)n;
    text_add(t, &crc, sizeof crc);
    text_add(t, &length, sizeof length);
    text_putc(t, type);
    if (n) text_add(t, bytes, n);
}

/* Appends a record in as many pieces as it needs, in one write. */
static Error *add_to_log(WandbFile *f, const Text *record)
{
    static const char zeros[HEAD] = { 0 };
    Text t = { 0 };
    size_t at = 0;
    do {
        size_t left = BLOCK - (size_t)(f->size + (int64_t)t.len) % BLOCK;
        if (left < HEAD) {
            text_add(&t, zeros, left);
            left = BLOCK;
        }
        size_t n = record->len - at < left - HEAD ? record->len - at : left - HEAD;
        bool is_first = at == 0, is_last = at + n == record->len;
        put_piece(&t,
                  is_first  ? (is_last ? WHOLE : FIRST)
                  : is_last ? LAST
                            : MIDDLE,
                  record->ptr + at, n);
        at += n;
    } while (at < record->len);
    Error *e = file_append(f->path, t.ptr, t.len);
    if (!e) f->size += (int64_t)t.len;
    text_free(&t);
    return e;
}

static Error *add_record(WandbFile *f, int field, const Text *message)
{
    Text record = { 0 };
    protobuf_int(&record, RECORD_NUM, ++f->n_records);
    protobuf_message(&record, field, message);
    Error *e = add_to_log(f, &record);
    text_free(&record);
    return e;
}

/* ---- the records ---- */

static Error *add_header(WandbFile *f)
{
    Text version = { 0 }, header = { 0 };
    protobuf_string(&version, VERSION_PRODUCER, "0.17.0");
    protobuf_string(&version, VERSION_MIN_CONSUMER, "0.12.0");
    protobuf_message(&header, HEADER_VERSION, &version);
    Error *e = add_record(f, RECORD_HEADER, &header);
    text_free(&version);
    text_free(&header);
    return e;
}

static void put_item(Text *to, int field, int key_field, const char *key, const char *json)
{
    Text item = { 0 };
    protobuf_string(&item, key_field, key);
    protobuf_string(&item, ITEM_JSON, json);
    protobuf_message(to, field, &item);
    text_free(&item);
}

static Error *add_run(WandbFile *f, const WandbRun *r)
{
    Text config = { 0 }, start = { 0 }, run = { 0 };
    for (int64_t k = 0; r->config && k < r->config->n; k++) {
        Text json = { 0 };
        yaml_emit_json(r->config->item[k], 0, &json);
        while (json.len && json.ptr[json.len - 1] == '\n') json.ptr[--json.len] = 0;
        put_item(&config, CONFIG_UPDATE, ITEM_KEY, r->config->key[k]->text, json.ptr);
        text_free(&json);
    }
    protobuf_int(&start, 1, (int64_t)time(NULL)); /* seconds */
    protobuf_string(&run, RUN_ID, f->id);
    if (r->entity) protobuf_string(&run, RUN_ENTITY, r->entity);
    protobuf_string(&run, RUN_PROJECT, r->project);
    protobuf_message(&run, RUN_CONFIG, &config);
    protobuf_string(&run, RUN_NAME, r->name);
    protobuf_message(&run, RUN_START, &start);
    Error *e = add_record(f, RECORD_RUN, &run);
    text_free(&config);
    text_free(&start);
    text_free(&run);
    return e;
}

Error *wandb_file_config(WandbFile *f, const char *key, const char *value)
{
    Text config = { 0 };
    put_item(&config, CONFIG_UPDATE, ITEM_KEY, key, value);
    Error *e = add_record(f, RECORD_CONFIG, &config);
    text_free(&config);
    return e;
}

static Error *write_pending(WandbFile *f)
{
    json_t *value;
    const char *key;
    Text history = { 0 }, step = { 0 };
    if (!f->pending) return NULL;
    json_object_foreach(f->pending, key, value)
    {
        char *json = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
        put_item(&history, HISTORY_ITEM, ITEM_NESTED_KEY, key, json);
        free(json);
    }
    protobuf_int(&step, STEP_NUM, json_integer_value(json_object_get(f->pending, "_step")));
    protobuf_message(&history, HISTORY_STEP, &step);
    json_decref(f->pending);
    f->pending = NULL;
    Error *e = add_record(f, RECORD_HISTORY, &history);
    text_free(&history);
    text_free(&step);
    return e;
}

/* Rows of one step (training and evaluations) are one there. */
Error *wandb_file_add(WandbFile *f, const char *row)
{
    json_t *object = json_loads(row, 0, NULL);
    Error *e = NULL;
    if (!object) return NULL; /* NaN is no JSON; wandb's own client drops such rows */
    bool is_same = f->pending && json_equal(json_object_get(f->pending, "_step"),
                                            json_object_get(object, "_step"));
    if (is_same) {
        json_object_update(f->pending, object);
        json_decref(object);
    } else {
        e = write_pending(f);
        f->pending = object;
    }
    return e;
}

static void drop_pending(void *file)
{
    json_decref(((WandbFile *)file)->pending);
}

Error *wandb_file_close(WandbFile *f)
{
    Text exit = { 0 };
    Error *e = write_pending(f);
    if (!e) e = add_record(f, RECORD_EXIT, &exit);
    text_free(&exit);
    return e;
}

/* ---- the file ---- */

static const char *find_folder(Arena *a, const char *folder, const char *id)
{
    const char *found = NULL, *end = arena_printf(a, "-%s", id);
    DIR *d = opendir(folder);
    for (const struct dirent *x; d && (x = readdir(d));) {
        size_t n = strlen(x->d_name), m = strlen(end);
        if (n > m && !strncmp(x->d_name, "offline-run-", 12) && !strcmp(x->d_name + n - m, end))
            found = path_join(a, folder, x->d_name);
    }
    if (d) closedir(d);
    return found;
}

Error *wandb_file_new(Arena *a, const char *directory, const WandbRun *run, WandbFile **out)
{
    static const char ident[HEAD] = { ':', 'W', '&', 'B', (char)0xE1, (char)0xBE, 0 };
    char hex[65], now[32];
    const char *name = arena_printf(a, "%s/%s", run->project, run->name);
    sha256_hex(name, strlen(name), hex);
    WandbFile *f = NEW(a, WandbFile);
    f->id = arena_printf(a, "%.8s", hex);
    time_t seconds = time(NULL);
    struct tm local;
    strftime(now, sizeof now, "%Y%m%d_%H%M%S", localtime_r(&seconds, &local));
    const char *below = path_join(a, directory, "wandb"), *folder = find_folder(a, below, f->id);
    if (!folder) folder = arena_printf(a, "%s/offline-run-%s-%s", below, now, f->id);
    f->path = arena_printf(a, "%s/run-%s.wandb", folder, f->id);
    TRY(make_directories(path_join(a, folder, "files")));
    TRY(file_write_unsynced(f->path, ident, sizeof ident));
    f->size = sizeof ident;
    arena_on_free(a, drop_pending, f);
    *out = f;
    TRY(add_header(f));
    return add_run(f, run);
}

const char *wandb_file_path(const WandbFile *f)
{
    return f->path;
}
