/* path_roles.c - judges outputs against inputs and other outputs. */
#include "base/path_roles.h"
#include "base/file.h"
#include "base/text_input.h"
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where a name lies: the nearest folder that exists, and the rest of the path from there. */
typedef struct Spot {
    const char *folder, *rest; /* "new/x.jsonl" where the folder `new` will be made */
    struct stat at;            /* of the folder */
    bool is_known;
} Spot;

typedef struct Use {
    PathRole role;
    const char *what, *path;
    bool exists;
    struct stat st;   /* of what is there, through links */
    Spot named, real; /* as given, and through links; the same where there is none */
} Use;

struct PathRoles {
    Arena *arena;
    Use *use;
    int64_t n, cap;
};

/* ---- places ---- */

/* Without "." and empty names; ".." takes back a name, as the folders will be made. */
static const char *tidy(Arena *a, const char *rest)
{
    char *out = arena_string(a, rest), *end = out;
    for (const char *p = rest; *p;) {
        size_t n = strcspn(p, "/");
        bool is_up = n == 2 && !memcmp(p, "..", 2), is_here = n == 1 && *p == '.';
        if (is_up) {
            while (end > out && *--end != '/') continue;
        } else if (n && !is_here) {
            if (end > out) *end++ = '/';
            memmove(end, p, n);
            end += n;
        }
        p += n + (p[n] == '/');
    }
    *end = 0;
    return out;
}

static Spot spot_of(Arena *a, const char *path)
{
    Spot s = { .folder = path_folder(a, path), .rest = path_name(path) };
    while (stat(s.folder, &s.at) != 0 && strchr(s.folder, '/') && strcmp(s.folder, "/") != 0) {
        s.rest = arena_printf(a, "%s/%s", path_name(s.folder), s.rest);
        s.folder = path_folder(a, s.folder);
    }
    if (stat(s.folder, &s.at) != 0) { /* new/x.jsonl */
        s.rest = arena_printf(a, "%s/%s", s.folder, s.rest);
        s.folder = ".";
    }
    s.rest = tidy(a, s.rest);
    s.is_known = stat(s.folder, &s.at) == 0;
    return s;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_same_spot(const Spot *a, const Spot *b)
{
    return a->is_known && b->is_known && is_same_file(&a->at, &b->at) && !strcmp(a->rest, b->rest);
}

static bool is_same(const Use *a, const Use *b)
{
    return (a->exists && b->exists && is_same_file(&a->st, &b->st)) ||
           is_same_spot(&a->named, &b->named) || is_same_spot(&a->real, &b->named);
}

/* Whether a name is one of those under which a file is made. */
static bool is_temporary_of(const Spot *s, const Spot *output)
{
    size_t n = strlen(output->rest);
    return s->is_known && output->is_known && is_same_file(&s->at, &output->at) && n &&
           !strncmp(s->rest, output->rest, n) &&
           (!strncmp(s->rest + n, ".partial", 8) || !strncmp(s->rest + n, ".tmp.", 5));
}

/* Whether a folder is this one or above it. */
static bool is_above(const struct stat *above, const char *folder)
{
    char path[PATH_MAX];
    struct stat st;
    if (!realpath(folder, path)) return false;
    for (;;) {
        if (stat(path, &st) == 0 && is_same_file(&st, above)) return true;
        char *slash = strrchr(path, '/');
        if (!slash || !path[1]) return false;
        slash[slash == path] = 0;
    }
}

/* ---- what inputs stand for ---- */

static bool has_suffix(const char *name, const char *const *suffixes)
{
    while (*suffixes && !str_ends(str_of(name), *suffixes)) suffixes++;
    return *suffixes;
}

/* Another name of an output may lie in the folder. */
static bool holds_link_to(Arena *a, const char *folder, const Use *output)
{
    PathList files = { 0 };
    struct stat st;
    if (!output->exists || output->st.st_nlink < 2) return false;
    error_free(files_below(a, folder, "", &files));
    for (int64_t i = 0; i < files.n; i++)
        if (stat(files.item[i], &st) == 0 && is_same_file(&st, &output->st)) return true;
    return false;
}

static bool lies_below(Arena *a, const Use *folder, const Use *output)
{
    return is_above(&folder->st, output->named.folder) ||
           is_above(&folder->st, output->real.folder) || holds_link_to(a, folder->path, output);
}

/* Data may lie beside a tokenizer; nothing reads it for the tokenizer's sake. */
static bool is_of_tokenizer(Arena *a, const Use *in, const Use *output)
{
    static const char *const data[] = { ".jsonl",  ".jsonl.gz", ".jsonl.zst", ".idx",     ".pbin",
                                        ".counts", ".bin",      ".npy",       ".parquet", NULL };
    static const char *const beside[] = { "tokenizer_config.json", "special_tokens_map.json",
                                          "added_tokens.json", NULL };
    const char *name = output->named.rest;
    if (in->exists && S_ISDIR(in->st.st_mode)) {
        bool is_there = output->named.is_known && is_same_file(&in->st, &output->named.at) &&
                        !strchr(name, '/');
        return (is_there && !has_suffix(name, data)) || holds_link_to(a, in->path, output);
    }
    bool is_beside = in->real.is_known && is_same_file(&in->real.at, &output->named.at);
    for (int i = 0; is_beside && beside[i]; i++)
        if (!strcmp(name, beside[i])) return true;
    return false;
}

/* An output in this folder, by its name or under one that it is made by. */
static bool name_matches(Arena *a, const char *pattern, const char *rest)
{
    bool is_deep = strchr(rest, '/'); /* the pattern would match its folder */
    const char *first = arena_string_n(a, rest, strcspn(rest, "/"));
    if (is_deep) return text_input_is_text_name(rest) && !fnmatch(pattern, first, FNM_PERIOD);
    return !fnmatch(pattern, rest, FNM_PERIOD) ||
           !fnmatch(pattern, arena_printf(a, "%s.partial", rest), FNM_PERIOD) ||
           !fnmatch(pattern, arena_printf(a, "%s.tmp.0123456789ab", rest), FNM_PERIOD);
}

/* What a pattern matches now, and whether it would match the output. */
static bool pattern_covers(Arena *a, const char *pattern, const Use *output)
{
    glob_t found;
    bool covers = false;
    struct stat st;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; !covers && i < found.gl_pathc; i++)
            covers = stat(found.gl_pathv[i], &st) == 0 &&
                     (S_ISDIR(st.st_mode) ? text_input_is_text_name(output->named.rest) &&
                                                is_above(&st, output->named.folder)
                                          : output->exists && is_same_file(&st, &output->st));
    globfree(&found);
    if (!covers && glob(path_folder(a, pattern), 0, NULL, &found) == 0) {
        for (size_t i = 0; !covers && i < found.gl_pathc; i++)
            covers = stat(found.gl_pathv[i], &st) == 0 && output->named.is_known &&
                     is_same_file(&st, &output->named.at) &&
                     name_matches(a, path_name(pattern), output->named.rest);
        globfree(&found);
    }
    return covers;
}

/* How an output is part of an input, as "is also", or NULL. */
static const char *relation(Arena *a, const Use *in, const Use *output)
{
    bool is_folder = in->exists && S_ISDIR(in->st.st_mode);
    if (is_same(in, output)) return "is also";
    if (is_temporary_of(&in->named, &output->named) || is_temporary_of(&in->real, &output->named))
        return "is made under names such as";
    if (in->role == PATH_READ_TOKENIZER)
        return is_of_tokenizer(a, in, output) ? "is a file of the tokenizer" : NULL;
    if (in->role == PATH_READ_TEXTS && !in->exists)
        return pattern_covers(a, in->path, output) ? "matches" : NULL;
    bool is_text = in->role != PATH_READ_TEXTS || text_input_is_text_name(output->named.rest);
    return is_folder && is_text && lies_below(a, in, output) ? "lies in the folder" : NULL;
}

static bool is_output(const Use *u)
{
    return u->role == PATH_WRITTEN || u->role == PATH_CACHE;
}

/* A component that is built twice names its output twice. */
static bool may_share(const Use *a, const Use *b)
{
    return (a->role == PATH_CACHE && b->role == PATH_CACHE) || !strcmp(a->what, b->what);
}

/* ---- judging ---- */

PathRoles *path_roles_new(Arena *a)
{
    PathRoles *r = NEW(a, PathRoles);
    r->arena = a;
    return r;
}

void path_roles_add(PathRoles *r, PathRole role, const char *what, const char *path)
{
    char real[PATH_MAX];
    if (!path || role == PATH_BEGINNING) return;
    if (role == PATH_READ_TEXTS && !strcmp(path, "-")) return; /* is judged for all commands */
    Arena *a = r->arena;
    Use u = { .role = role, .what = arena_string(a, what), .path = arena_string(a, path) };
    u.exists = stat(path, &u.st) == 0;
    u.named = u.real = spot_of(a, u.path);
    if (u.exists && realpath(path, real)) u.real = spot_of(a, arena_string(a, real));
    r->use = arena_grow(a, r->use, r->n, &r->cap, sizeof *r->use);
    r->use[r->n++] = u;
}

static Error *check_kind(const Use *output)
{
    if (!output->exists || S_ISREG(output->st.st_mode)) return NULL;
    if (S_ISDIR(output->st.st_mode))
        return error_new("%s: %s is a folder; a file should be written there", output->what,
                         output->path);
    return error_new("%s: %s is no regular file, and would be replaced by one", output->what,
                     output->path);
}

/* Files of the shell's redirections. */
static Error *check_standard_streams(const Use *u)
{
    static const char *const name[] = { "standard input", "standard output" };
    for (int fd = 0; fd < 2; fd++) {
        struct stat st;
        bool is_this =
            u->exists && S_ISREG(u->st.st_mode) && fstat(fd, &st) == 0 && is_same_file(&st, &u->st);
        if (!is_this || (fd == 0 && !is_output(u))) continue;
        return error_new("Input and output file paths must be different. (%s %s is also %s)",
                         u->what, u->path, name[fd]);
    }
    return NULL;
}

static Error *check_pair(const PathRoles *r, const Use *u, const Use *output)
{
    if (is_output(u)) {
        if (u > output || may_share(u, output)) return NULL; /* told once, of the later one */
        const char *how = is_same(u, output) ? "is also"
                          : is_temporary_of(&u->named, &output->named) ||
                                  is_temporary_of(&output->named, &u->named)
                              ? "is made under the same names as"
                              : NULL;
        return how ? error_new("Two outputs must be different files. (%s %s %s %s %s)",
                               output->what, output->path, how, u->what, u->path)
                   : NULL;
    }
    const char *how = relation(r->arena, u, output);
    return how ? error_new("Input and output file paths must be different. (%s %s %s %s %s)",
                           output->what, output->path, how, u->what, u->path)
               : NULL;
}

void path_roles_list_read(const PathRoles *r, Arena *a, PathList *to)
{
    for (int64_t i = 0; i < r->n; i++) {
        const Use *u = &r->use[i];
        bool is_read = u->role == PATH_READ || u->role == PATH_READ_TOKENIZER;
        if (!is_read || !u->exists) continue;
        to->item = arena_grow(a, to->item, to->n, &to->cap, sizeof *to->item);
        to->item[to->n++] = u->path;
    }
}

Error *path_roles_check(const PathRoles *r)
{
    Error *all = NULL;
    for (const Use *u = r->use, *end = u + r->n; u < end; u++) {
        Error *own = is_output(u) ? check_kind(u) : NULL;
        if (!own) own = check_standard_streams(u);
        for (const Use *other = r->use; is_output(u) && other < end; other++)
            if (other != u) own = error_join(own, check_pair(r, other, u));
        all = error_join(all, own);
    }
    return all;
}
