/* tokenizer_encode.c - `tokenizer encode`: texts to ids. */
#include "base/json.h"
#include "command.h"
#include "data/text_query.h"
#include "line_filter.h"
#include "tokenizer/tokenizer.h"
#include <string.h>

enum { INPUT_JSONL, INPUT_TEXT };
enum { FORMAT_JSONL, FORMAT_RAW_U32 };
static const char *const input_formats[] = { "jsonl", "text", NULL };
static const char *const formats[] = { "jsonl", "raw_u32", NULL };
static const char *const yes_or_no[] = { "false", "true", NULL };

typedef struct Options {
    const char *tokenizer, *input_path, *output_path, *text_key, *tiktoken_pattern;
    int input_format, format, add_special_tokens, file_existence_policy;
    bool offsets;
    int64_t threads, max_line_bytes;
    /* set by the command */
    const Tokenizer *opened;
    const char *pattern;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, tokenizer, NULL, TOKENIZER_FILES, .role = PATH_READ_TOKENIZER),
    FIELD_STRING(Options, tiktoken_pattern, "null",
                 "how a .tiktoken file of an unknown vocabulary cuts text into words",
                 .flags = FIELD_NULLABLE),
    FIELD_PATH(Options, input_path, "null", "what to encode; default: standard input",
               .flags = FIELD_EXISTS),
    FIELD_CHOICE(Options, input_format, "jsonl", input_formats,
                 "one text per line of JSON, or all of the input"),
    FIELD_STRING(Options, text_key, "text", "where the text is in a line of JSON"),
    FIELD_CHOICE(Options, add_special_tokens, "true", yes_or_no,
                 "as the tokenizer's post-processor says"),
    FIELD_PATH(Options, output_path, "null", "default: standard output", .role = PATH_WRITTEN),
    FIELD_EXISTENCE(Options),
    FIELD_CHOICE(Options, format, "jsonl", formats,
                 "{\"ids\": [...]} per text, or 32-bit numbers one after the other"),
    FIELD_BOOL(
        Options, offsets, "false",
        "also \"offsets\": for each id [from, to) in the text, in characters; [0, 0] for ids "
        "that are not in it"),
    FIELD_INT(Options, threads, "0", 0, 512, "0: all"),
    FIELD_INT(Options, max_line_bytes, "1073741824", 1, INFINITY, "a longer line is an error"),
    { 0 },
};

/* What a thread needs. */
typedef struct State {
    Arena *arena;
    const Options *options;
    TextQuery *query; /* of INPUT_JSONL */
    Encoder *encoder;
    Ids ids, offsets;
    Text text;
} State;

/* The pattern for one key, whatever its characters. */
static const char *pattern_of(Arena *a, const char *key)
{
    Text t = { 0 };
    text_puts(&t, ".[");
    text_json_string(&t, str_of(key));
    text_puts(&t, "]");
    bool is_plain =
        strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == strlen(key) && *key;
    const char *pattern = is_plain ? arena_printf(a, ".%s", key) : arena_string(a, t.ptr);
    text_free(&t);
    return pattern;
}

static void *state_new(const void *settings)
{
    Arena *a = arena_new();
    State *s = NEW(a, State);
    *s = (State){ .arena = a, .options = settings };
    s->encoder = s->options->opened->encoder_new(s->options->opened);
    if (s->options->input_format == INPUT_JSONL) {
        error_free(text_query_new(s->options->pattern, &s->query)); /* it compiled before */
    }
    return s;
}

static void state_free(void *state)
{
    State *s = state;
    s->options->opened->encoder_free(s->encoder);
    text_query_free(s->query);
    ids_free(&s->ids);
    ids_free(&s->offsets);
    text_free(&s->text);
    arena_free(s->arena);
}

/* `offsets` may be NULL. */
static void write_ids(const Ids *ids, const Ids *offsets, int format, Text *out)
{
    if (format == FORMAT_RAW_U32) {
        text_add(out, ids->id, (size_t)ids->n * sizeof *ids->id);
        return;
    }
    text_puts(out, "{\"ids\": [");
    for (int64_t i = 0; i < ids->n; i++) text_printf(out, i ? ", %u" : "%u", ids->id[i]);
    if (offsets) text_puts(out, "], \"offsets\": [");
    for (int64_t i = 0; offsets && i < offsets->n; i += 2)
        text_printf(out, i ? ", [%u, %u]" : "[%u, %u]", offsets->id[i], offsets->id[i + 1]);
    text_puts(out, "]}\n");
}

static Error *encode_line(void *state, Str line, Text *out, int64_t *column)
{
    State *s = state;
    const Options *o = s->options;
    Str text = line;
    if (s->query) {
        text_clear(&s->text);
        TRY(text_query_run(s->query, line, &s->text, column));
        text = (Str){ s->text.ptr, s->text.len };
    }
    s->ids.n = s->offsets.n = 0;
    if (o->offsets)
        TRY(o->opened->encode_offsets(o->opened, text, o->add_special_tokens, &s->ids,
                                      &s->offsets));
    else
        TRY(o->opened->encode(s->encoder, text, o->add_special_tokens, &s->ids));
    write_ids(&s->ids, o->offsets ? &s->offsets : NULL, o->format, out);
    return NULL;
}

static Error *run(Arena *a, const void *given)
{
    Options o = *(const Options *)given;
    bool write;
    if (o.offsets && o.format == FORMAT_RAW_U32)
        return error_usage("--offsets needs --format jsonl: raw_u32 holds ids alone");
    TRY(existing_file(o.output_path, (ExistingPolicy)o.file_existence_policy, &write));
    if (!write) return NULL;
    o.pattern = pattern_of(a, o.text_key);
    TextQuery *query;
    TRY(text_query_new(o.pattern, &query));
    text_query_free(query);
    Tokenizer *t;
    TRY(tokenizer_open_with_pattern(o.tokenizer, o.tiktoken_pattern, &t));
    o.opened = t;
    if (o.offsets && !t->encode_offsets) {
        Error *e = error_usage("--offsets: %s gives none", t->kind);
        t->close(t);
        return e;
    }
    LineFilter f = {
        .what = "encoding",
        .input_path = o.input_path,
        .output_path = o.output_path,
        .whole = o.input_format == INPUT_TEXT,
        .n_threads = (int)o.threads,
        .max_line_bytes = o.max_line_bytes,
        .state_new = state_new,
        .state_free = state_free,
        .line = encode_line,
        .settings = &o,
    };
    Error *e = line_filter_run(&f);
    t->close(t);
    return e;
}

const Command command_tokenizer_encode = {
    .group = "tokenizer",
    .name = "encode",
    .doc = "Turns texts into ids.",
    .details =
        "Ids are those of Hugging Face's tokenizers library, with the tokenizer.json as it stands, "
        "of sentencepiece and of tiktoken. Offsets are those of the first two libraries (of "
        "the first for a .tiktoken file): they count characters, not bytes, of the text as it was "
        "given, before any normalizer.",
    .examples =
        "modalities tokenizer encode --tokenizer gpt2 --input_path corpus.jsonl\n"
        "echo Hello | modalities tokenizer encode --tokenizer gpt2 --input_format text\n"
        "echo '{\"text\": \"Hello\"}' | modalities tokenizer encode --tokenizer gpt2 --offsets",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
