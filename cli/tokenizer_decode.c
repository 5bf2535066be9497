/* tokenizer_decode.c - `tokenizer decode`: ids back to texts. */
#include "base/json.h"
#include "command.h"
#include "line_filter.h"
#include "tokenizer/tokenizer.h"
#include <jansson.h>

enum { FORMAT_JSONL, FORMAT_TEXT };
static const char *const formats[] = { "jsonl", "text", NULL };

typedef struct Options {
    const char *tokenizer, *input_path, *output_path;
    int format, file_existence_policy;
    bool skip_special_tokens;
    int64_t threads, max_line_bytes;
    const Tokenizer *opened; /* set by the command */
} Options;

static const Field options[] = {
    FIELD_PATH(Options, tokenizer, NULL, TOKENIZER_FILES, .role = PATH_READ_TOKENIZER),
    FIELD_PATH(Options, input_path, "null", "lines of {\"ids\": [...]}; default: standard input",
               .flags = FIELD_EXISTS),
    FIELD_BOOL(Options, skip_special_tokens, "false",
               "leave special tokens out: true, false, or nothing, which is true"),
    FIELD_PATH(Options, output_path, "null", "default: standard output", .role = PATH_WRITTEN),
    FIELD_EXISTENCE(Options),
    FIELD_CHOICE(Options, format, "jsonl", formats,
                 "{\"text\": ...} per line, or the texts one after the other"),
    FIELD_INT(Options, threads, "0", 0, 512, "0: all"),
    FIELD_INT(Options, max_line_bytes, "1073741824", 1, INFINITY, "a longer line is an error"),
    { 0 },
};

typedef struct State {
    Arena *arena;
    const Options *options;
    Ids ids;
    Text text;
} State;

static void *state_new(const void *settings)
{
    Arena *a = arena_new();
    State *s = NEW(a, State);
    *s = (State){ .arena = a, .options = settings };
    return s;
}

static void state_free(void *state)
{
    State *s = state;
    ids_free(&s->ids);
    text_free(&s->text);
    arena_free(s->arena);
}

static Error *read_ids(Str line, Ids *ids, int64_t *column)
{
    json_error_t problem;
    json_t *tree = json_loadb(line.ptr, line.len, 0, &problem);
    if (!tree) {
        *column = problem.position;
        return error_new("no JSON: %s", problem.text);
    }
    const json_t *list = json_object_get(tree, "ids");
    Error *e = json_is_array(list) ? NULL : error_new("there is no list \"ids\"");
    ids->n = 0;
    for (size_t i = 0; !e && i < json_array_size(list); i++) {
        const json_t *id = json_array_get(list, i);
        json_int_t value = json_integer_value(id);
        if (json_is_integer(id) && value >= 0 && value <= UINT32_MAX)
            ids_add(ids, (uint32_t)value);
        else
            e = error_new("ids[%zu] is no id", i);
    }
    json_decref(tree);
    return e;
}

static Error *decode_line(void *state, Str line, Text *out, int64_t *column)
{
    State *s = state;
    const Options *o = s->options;
    TRY(read_ids(line, &s->ids, column));
    text_clear(&s->text);
    TRY(o->opened->decode(o->opened, s->ids.id, s->ids.n, o->skip_special_tokens, &s->text));
    Str text = { s->text.ptr, s->text.len };
    if (o->format == FORMAT_TEXT) {
        text_add(out, text.ptr, text.len);
    } else {
        text_puts(out, "{\"text\": ");
        text_json_string(out, text);
        text_puts(out, "}\n");
    }
    return NULL;
}

static Error *run(Arena *a, const void *given)
{
    (void)a;
    Options o = *(const Options *)given;
    Tokenizer *t;
    bool write;
    TRY(existing_file(o.output_path, (ExistingPolicy)o.file_existence_policy, &write));
    if (!write) return NULL;
    TRY(tokenizer_open(o.tokenizer, &t));
    o.opened = t;
    LineFilter f = {
        .what = "decoding",
        .input_path = o.input_path,
        .output_path = o.output_path,
        .n_threads = (int)o.threads,
        .max_line_bytes = o.max_line_bytes,
        .state_new = state_new,
        .state_free = state_free,
        .line = decode_line,
        .settings = &o,
    };
    Error *e = line_filter_run(&f);
    t->close(t);
    return e;
}

const Command command_tokenizer_decode = {
    .group = "tokenizer",
    .name = "decode",
    .doc = "Turns ids back into texts.",
    .examples = "modalities tokenizer decode --tokenizer gpt2 --input_path ids.jsonl\n"
                "echo '{\"ids\": [15496, 995]}' | modalities tokenizer decode --tokenizer gpt2 "
                "--format text --skip_special_tokens true",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
