/* tokenizer_inspect.c - `tokenizer inspect PATH`: what a tokenizer holds, and how it cuts a text.
 */
#include "base/json.h"
#include "command.h"
#include "tokenizer/tokenizer.h"
#include <stdio.h>

typedef struct Options {
    const char *path, *text;
    bool vocabulary;
} Options;

static const Field options[] = {
    FIELD_PATH(Options, path, NULL,
               "tokenizer.json, its folder, a SentencePiece .model or a .tiktoken file",
               .flags = FIELD_ARGUMENT),
    FIELD_STRING(Options, text, "null", "show what each stage makes of this text, and its tokens"),
    FIELD_BOOL(Options, vocabulary, "false", "list every id with its name"),
    { 0 },
};

static void print_token(const Tokenizer *t, uint32_t id)
{
    Text line = { 0 };
    Str name;
    bool known = t->token_name(t, id, &name);
    text_json_string(&line, known ? name : (Str){ "", 0 });
    printf("%8u  %s%s\n", id, line.ptr, t->is_special(t, id) ? "  special" : "");
    text_free(&line);
}

static void print_summary(const Tokenizer *t)
{
    int64_t n_special = 0, n_named = 0;
    Str name;
    for (int64_t id = 0; id < t->n_ids; id++) {
        n_special += t->is_special(t, (uint32_t)id);
        n_named += t->token_name(t, (uint32_t)id, &name);
    }
    printf("model           %s\nvocabulary      %lld\nids             0 to %lld, %lld in "
           "use\nspecial tokens  %lld\n",
           t->kind, (long long)t->vocab_size, (long long)t->n_ids - 1, (long long)n_named,
           (long long)n_special);
    for (int64_t id = 0; id < t->n_ids; id++) {
        if (t->is_special(t, (uint32_t)id)) print_token(t, (uint32_t)id);
    }
}

/* One line per stage: texts in quotes, tokens in brackets. */
static void print_stage(void *arg, const char *stage, const TraceItem *item, int64_t n)
{
    (void)arg;
    Text line = { 0 };
    for (int64_t i = 0; i < n; i++) {
        text_puts(&line, item[i].is_token ? "  [" : "  ");
        text_json_string(&line, item[i].text);
        text_puts(&line, item[i].is_token ? "]" : "");
    }
    printf("%-38s%s\n", stage, n ? line.ptr : "");
    text_free(&line);
}

static Error *print_stages(const Tokenizer *t, const char *text)
{
    if (!t->trace) return NULL;
    TraceItem whole = { .text = str_of(text) };
    putchar('\n');
    print_stage(NULL, "text", &whole, 1);
    return t->trace(t, whole.text, print_stage, NULL);
}

static Error *print_text(const Tokenizer *t, const char *text)
{
    Encoder *e = t->encoder_new(t);
    Ids ids = { 0 };
    Error *err = t->encode(e, str_of(text), true, &ids);
    if (!err) {
        printf("\n%lld tokens\n", (long long)ids.n);
        for (int64_t i = 0; i < ids.n; i++) print_token(t, ids.id[i]);
    }
    ids_free(&ids);
    t->encoder_free(e);
    return err;
}

static Error *run(Arena *a, const void *given)
{
    (void)a;
    const Options *o = given;
    Tokenizer *t;
    TRY(tokenizer_open(o->path, &t));
    print_summary(t);
    Str name;
    if (o->vocabulary) putchar('\n');
    for (int64_t id = 0; o->vocabulary && id < t->n_ids; id++) {
        if (t->token_name(t, (uint32_t)id, &name)) print_token(t, (uint32_t)id);
    }
    Error *e = o->text ? print_stages(t, o->text) : NULL;
    if (o->text && !e) e = print_text(t, o->text);
    t->close(t);
    return e;
}

const Command command_tokenizer_inspect = {
    .group = "tokenizer",
    .name = "inspect",
    .doc = "Prints what a tokenizer holds, and how a text goes through its stages.",
    .examples = "modalities tokenizer inspect gpt2\n"
                "modalities tokenizer inspect gpt2 --text 'How is this cut?'",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
