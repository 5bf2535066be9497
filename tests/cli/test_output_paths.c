/* test_output_paths.c - no command takes an output that is one of its inputs or another output: all
 * commands, all pairs of their path options, as the tables of options name them. */
#include "../../cli/command.h"
#include "command_line.h"
#include "test.h"
#include <string.h>
#include <unistd.h>

/* ---- rows ---- */

/* The row of the path or of its items, or NULL. */
static const Field *path_row(const Field *f)
{
    if (f->type == FIELD_LIST) f = f->fields;
    return f->type == FIELD_PATH || (f->type == FIELD_STRING && f->role) ? f : NULL;
}

static bool is_output(const Field *f)
{
    const Field *path = path_row(f);
    return path && path->role == PATH_WRITTEN;
}

static bool is_judged(const Field *f)
{
    const Field *path = path_row(f);
    return path && path->role != PATH_BEGINNING;
}

/* ---- command lines ---- */

typedef struct Line {
    Arena *arena;
    const char *folder;
    const Command *command;
    char *word[128];
    int n;
    int64_t n_pairs;
} Line;

static void put(const char *folder, const char *name)
{
    Arena *a = arena_new();
    assert_no_error(file_write(path_join(a, folder, name), "x\n", 2));
    arena_free(a);
}

static void add_word(Line *l, const char *word)
{
    assert_true(l->n < 128);
    l->word[l->n++] = arena_string(l->arena, word);
}

/* Something that the row allows; a path gets a file of its own. */
static const char *some_value(Line *l, const Field *f)
{
    const Field *item = f->type == FIELD_LIST ? f->fields : f;
    const char *file = arena_printf(l->arena, "file_%s", f->name);
    switch (item->type) {
    case FIELD_INT:
    case FIELD_FLOAT:
        return arena_printf(l->arena, "%.0f", item->min > 1 ? ceil(item->min) : 1.0);
    case FIELD_CHOICE:
        return arena_string_n(l->arena, item->choices[0], strcspn(item->choices[0], "|"));
    default:
        if (!path_row(f)) return "x";
        put(l->folder, file);
        return path_join(l->arena, l->folder, file);
    }
}

/* All options that are required, and both of these with their values. */
static void make_line(Line *l, const Field *one, const char *a, const Field *other, const char *b)
{
    l->n = 0;
    for (const Field *f = l->command->options; f->type != FIELD_END; f++) {
        bool is_named = f == one || f == other;
        if (f->fallback && !is_named) continue;
        const char *value = f == one ? a : f == other ? b : some_value(l, f);
        if (!(f->flags & FIELD_ARGUMENT))
            add_word(l, arena_printf(l->arena, "--%s=%s", f->name, value));
        else
            add_word(l, value);
    }
}

static Error *parse(Line *l)
{
    bool wants_help = false;
    PathRoles *paths = path_roles_new(l->arena);
    void *options = arena_alloc(l->arena, l->command->options_size + 1);
    Error *e = command_parse(l->arena, l->command, l->n, l->word, options, paths, &wants_help);
    return e ? e : path_roles_check(paths);
}

static const char *show(Line *l)
{
    const char *all = arena_printf(l->arena, "%s %s", l->command->group ? l->command->group : "",
                                   l->command->name);
    for (int i = 0; i < l->n; i++) all = arena_printf(l->arena, "%s %s", all, l->word[i]);
    return all;
}

static void is_refused(Line *l, const Field *output, const char *a, const Field *other,
                       const char *b)
{
    make_line(l, output, a, other, b);
    Error *e = parse(l);
    if (!e) fail_msg("accepted: %s", show(l));
    if (!strstr(error_text(e), is_output(other) ? "Two outputs must be different files."
                                                : "Input and output file paths must be different."))
        fail_msg("%s: %s", show(l), error_text(e));
    assert_contains(error_text(e), output->name);
    assert_contains(error_text(e), other->name);
    error_free(e);
}

/* ---- all ways to name one file twice ---- */

static void check_pair(Line *l, const Field *output, const Field *other)
{
    Arena *a = l->arena;
    const char *same = path_join(a, l->folder, "same"), *fresh = path_join(a, l->folder, "fresh"),
               *link = path_join(a, l->folder, "link"), *hard = path_join(a, l->folder, "hard");
    const char *spelled = arena_printf(a, "%s/./other/../same", l->folder);
    is_refused(l, output, same, other, same);
    is_refused(l, output, spelled, other, same);
    is_refused(l, output, same, other, spelled);
    is_refused(l, output, link, other, same);
    is_refused(l, output, same, other, link);
    is_refused(l, output, hard, other, same);
    is_refused(l, output, same, other, path_join(a, l->folder, "same.partial"));
    is_refused(l, output, same, other, path_join(a, l->folder, "same.partial.parts"));
    is_refused(l, output, same, other, path_join(a, l->folder, "same.tmp.0123456789abcdef"));
    if (is_output(other)) is_refused(l, output, fresh, other, fresh);
    if (is_output(other))
        is_refused(l, output, arena_printf(a, "%s/new/fresh", l->folder), other,
                   arena_printf(a, "%s/new/deep/../fresh", l->folder));
    make_line(l, output, same, other, path_join(a, l->folder, "else"));
    Error *e = parse(l);
    if (e) fail_msg("%s: %s", show(l), error_text(e));
    l->n_pairs++;
}

static void check_command(Line *l)
{
    for (const Field *f = l->command->options; f && f->type != FIELD_END; f++)
        for (const Field *g = l->command->options; is_output(f) && g->type != FIELD_END; g++)
            if (g != f && is_judged(g)) check_pair(l, f, g);
}

TEST(no_command_takes_an_output_that_is_its_input_or_another_output)
{
    static const char *const files[] = { "same", "else", "same.partial", "same.partial.parts",
                                         "same.tmp.0123456789abcdef" };
    Line l = { .arena = arena_new(), .folder = test_folder() };
    for (int i = 0; i < 5; i++) put(l.folder, files[i]);
    assert_no_error(make_directories(path_join(l.arena, l.folder, "other")));
    const char *same = path_join(l.arena, l.folder, "same");
    assert_int_equal(symlink(same, path_join(l.arena, l.folder, "link")), 0);
    assert_int_equal(link(same, path_join(l.arena, l.folder, "hard")), 0);
    for (int i = 0; commands[i]; i++) {
        l.command = commands[i];
        check_command(&l);
    }
    test_note("%d pairs", (int)l.n_pairs);
    assert_true(l.n_pairs >= 25);
    arena_free(l.arena);
}

static Error *check_pattern(Arena *a, const char *pattern, const char *output)
{
    PathRoles *paths = path_roles_new(a);
    path_roles_add(paths, PATH_READ_TEXTS, "--in", path_join(a, test_folder(), pattern));
    path_roles_add(paths, PATH_WRITTEN, "--out", path_join(a, test_folder(), output));
    return path_roles_check(paths);
}

/* By its name, by another name of the same file, and below a folder. */
TEST(an_output_that_a_pattern_matches_is_refused)
{
    Arena *a = arena_new();
    const char *in = path_join(a, test_folder(), "in");
    assert_no_error(make_directories(path_join(a, in, "deep.d/er")));
    assert_int_equal(symlink("nowhere", path_join(a, in, "a.jsonl")), 0);
    put(in, "b.jsonl");
    put(test_folder(), "other");
    assert_int_equal(link(path_join(a, in, "b.jsonl"), path_join(a, test_folder(), "hard")), 0);
    assert_no_error(check_pattern(a, "in/*.jsonl", "other"));
    assert_no_error(check_pattern(a, "in/a*", "hard"));
    assert_no_error(check_pattern(a, "none/*.jsonl", "hard"));
    assert_error_has(check_pattern(a, "in/*.jsonl", "hard"), "matches");
    assert_error_has(check_pattern(a, "in/*.jsonl", "in/new.jsonl"), "matches");
    assert_error_has(check_pattern(a, "in/deep.?", "in/deep.d/er/new.jsonl"), "matches");
    assert_no_error(check_pattern(a, "in/deep.?", "in/deep.d/er/new.pbin"));
    arena_free(a);
}

/* What is written says so in its row; otherwise the test above would not see it. */
TEST(every_option_that_names_an_output_has_its_role)
{
    static const char *const words[] = { "output", "target", "dst", "report", "index_path" };
    for (int i = 0; commands[i]; i++)
        for (const Field *f = commands[i]->options; f && f->type != FIELD_END; f++) {
            bool sounds = false;
            for (int k = 0; k < 5; k++) sounds |= strstr(f->name, words[k]) != NULL;
            sounds |= strstr(f->doc, "to write") != NULL;
            if (sounds && path_row(f) && !is_output(f) && path_row(f)->role != PATH_BEGINNING)
                fail_msg("%s: --%s has no .role = PATH_WRITTEN", commands[i]->name, f->name);
        }
}

TEST(an_output_is_no_folder_and_no_device)
{
    Line l = { .arena = arena_new(), .folder = test_folder() };
    for (int i = 0; commands[i]; i++) {
        l.command = commands[i];
        for (const Field *f = l.command->options; f && f->type != FIELD_END; f++) {
            if (!is_output(f)) continue;
            make_line(&l, f, "/dev/null", NULL, NULL);
            assert_error_has(parse(&l), "/dev/null is no regular file");
            make_line(&l, f, "/tmp", NULL, NULL);
            assert_error_has(parse(&l), "/tmp is a folder");
        }
    }
    arena_free(l.arena);
}

/* Each output alone, over a file that is there: refused, whether the command says so before or
 * after it looks at its inputs, which hold nothing of use here. */
TEST(no_command_replaces_a_file_unasked)
{
    Line l = { .arena = arena_new(), .folder = test_folder() };
    Arena *a = l.arena;
    const char *said, *kept = path_join(a, l.folder, "kept");
    int n_said = 0;
    Str text;
    for (int i = 0; commands[i]; i++) {
        l.command = commands[i];
        for (const Field *f = l.command->options; f && f->type != FIELD_END; f++) {
            if (!is_output(f)) continue;
            put(l.folder, "kept");
            make_line(&l, f, kept, NULL, NULL);
            int status = command_line_run(a, show(&l), &said);
            if (status != 1 && status != 2) fail_msg("%s: status %d\n%s", show(&l), status, said);
            assert_no_error(file_read(a, kept, &text));
            if (!str_is(text, "x\n")) fail_msg("%s changed it:\n%s", show(&l), said);
            n_said += strstr(said, "already") != NULL;
        }
    }
    test_note("%d outputs say that something is there already", n_said);
    assert_true(n_said >= 20);
    arena_free(a);
}
