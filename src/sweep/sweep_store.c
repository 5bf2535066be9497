/* sweep_store.c - the SQLite file of a sweep. */
#include "sweep/sweep_store.h"
#include "base/file.h"
#include "monitor/run_record.h"
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct SweepStore {
    sqlite3 *db;
    const char *path;
};

static Error *failure(const SweepStore *s)
{
    return error_new("%s: %s", s->path, sqlite3_errmsg(s->db));
}

static Error *run_sql(SweepStore *s, const char *sql)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? NULL : failure(s);
}

static void close_store(void *store)
{
    sqlite3_close(((SweepStore *)store)->db);
}

/* Others may open it at the same moment, and the change of the journal does not wait for them. */
static Error *set_up(SweepStore *s)
{
    enum { MOST_TRIES = 300, PAUSE = 100 * 1000 }; /* microseconds */
    static const char sql[] =
        "PRAGMA page_size=32768; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
        "CREATE TABLE IF NOT EXISTS run (config TEXT PRIMARY KEY, attempts INTEGER NOT "
        "NULL DEFAULT 0, hopeless INTEGER NOT NULL DEFAULT 0, bytes INTEGER, changed "
        "INTEGER);"
        "CREATE TABLE IF NOT EXISTS track (config TEXT, tag TEXT, key TEXT, is_loss "
        "INTEGER, n INTEGER, step BLOB, value BLOB, PRIMARY KEY (config, tag, key)) "
        "WITHOUT ROWID;";
    for (int i = 1;; i++) {
        Error *e = run_sql(s, sql);
        if (!e || i == MOST_TRIES || sqlite3_errcode(s->db) != SQLITE_BUSY) return e;
        error_free(e);
        usleep(PAUSE);
    }
}

Error *sweep_store_open(Arena *a, const char *folder, SweepStore **out)
{
    enum { BUSY_MILLISECONDS = 30000 };
    SweepStore *s = NEW(a, SweepStore);
    s->path = path_join(a, folder, "sweep.sqlite");
    int status = sqlite3_open(s->path, &s->db);
    arena_on_free(a, close_store, s);
    if (status != SQLITE_OK) return failure(s);
    sqlite3_busy_timeout(s->db, BUSY_MILLISECONDS);
    *out = s;
    return set_up(s);
}

const char *sweep_state_name(SweepState s)
{
    static const char *const names[] = { "waiting", "running", "stopped",
                                         "done",    "failed",  "hopeless" };
    return names[s];
}

/* ---- statements ---- */

static Error *prepare(SweepStore *s, const char *sql, const SweepRun *r, sqlite3_stmt **out)
{
    if (sqlite3_prepare_v2(s->db, sql, -1, out, NULL) != SQLITE_OK) return failure(s);
    sqlite3_bind_text(*out, 1, r->config, -1, SQLITE_STATIC);
    return NULL;
}

/* Runs a statement that gives no rows. */
static Error *finish(SweepStore *s, sqlite3_stmt *st)
{
    int status = sqlite3_step(st);
    Error *e = status == SQLITE_DONE ? NULL : failure(s);
    sqlite3_finalize(st);
    return e;
}

static Error *change(SweepStore *s, const char *sql, const SweepRun *r)
{
    sqlite3_stmt *st;
    TRY(prepare(s, sql, r, &st));
    return finish(s, st);
}

Error *sweep_store_attempt(SweepStore *s, const SweepRun *r)
{
    return change(s,
                  "INSERT INTO run (config, attempts) VALUES (?1, 1) ON CONFLICT (config) DO "
                  "UPDATE SET attempts = attempts + 1",
                  r);
}

Error *sweep_store_set_hopeless(SweepStore *s, const SweepRun *r)
{
    return change(s,
                  "INSERT INTO run (config, hopeless) VALUES (?1, 1) ON CONFLICT (config) DO "
                  "UPDATE SET hopeless = 1",
                  r);
}

static SweepState state_of(const RunRecord *record)
{
    switch (record->state) {
    case RUN_RUNNING:
        return SWEEP_RUNNING;
    case RUN_DONE:
        return SWEEP_DONE;
    case RUN_FAILED:
        return SWEEP_FAILED;
    default:
        return SWEEP_STOPPED;
    }
}

Error *sweep_store_status(SweepStore *s, Arena *a, const SweepRun *r, SweepStatus *out)
{
    sqlite3_stmt *st;
    RunRecord record;
    bool is_hopeless = false;
    *out = (SweepStatus){ .why = "" };
    TRY(prepare(s, "SELECT attempts, hopeless FROM run WHERE config = ?1", r, &st));
    if (sqlite3_step(st) == SQLITE_ROW) {
        out->attempts = sqlite3_column_int64(st, 0);
        is_hopeless = sqlite3_column_int(st, 1);
    }
    sqlite3_finalize(st);
    if (file_exists(path_join(a, r->folder, RUN_RECORD))) {
        TRY(run_record_read(a, r->folder, &record));
        out->state = state_of(&record);
        out->steps = record.steps;
        out->target_steps = record.target_steps;
        out->why = record.why;
    } else if (out->attempts) {
        out->state = run_lock_is_held(a, r->folder) ? SWEEP_RUNNING : SWEEP_FAILED;
        out->why = "it ended before its first step; see run.log in its folder";
    }
    if (is_hopeless && out->state == SWEEP_STOPPED) out->state = SWEEP_HOPELESS;
    return NULL;
}

/* ---- results ---- */

/* In nanoseconds: a run may write twice in a second. */
static int64_t changed_at(const struct stat *file)
{
    return (int64_t)file->st_mtim.tv_sec * 1000000000 + file->st_mtim.tv_nsec;
}

static bool is_fresh(SweepStore *s, const SweepRun *r, const struct stat *file)
{
    sqlite3_stmt *st;
    bool fresh = false;
    Error *e = prepare(s, "SELECT bytes, changed FROM run WHERE config = ?1", r, &st);
    if (e) {
        error_free(e);
        return false;
    }
    if (sqlite3_step(st) == SQLITE_ROW)
        fresh = sqlite3_column_int64(st, 0) == file->st_size &&
                sqlite3_column_int64(st, 1) == changed_at(file);
    sqlite3_finalize(st);
    return fresh;
}

static Error *keep_track(SweepStore *s, const SweepRun *r, const Track *t)
{
    sqlite3_stmt *st;
    TRY(prepare(s, "INSERT INTO track VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", r, &st));
    int bytes = (int)(t->n * (int64_t)sizeof(double));
    sqlite3_bind_text(st, 2, t->tag, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 3, t->key, -1, SQLITE_STATIC);
    sqlite3_bind_int(st, 4, t->is_loss);
    sqlite3_bind_int64(st, 5, t->n);
    sqlite3_bind_blob(st, 6, t->step, bytes, SQLITE_STATIC);
    sqlite3_bind_blob(st, 7, t->value, bytes, SQLITE_STATIC);
    return finish(s, st);
}

static Error *keep_all(SweepStore *s, const SweepRun *r, const History *h, const struct stat *file)
{
    sqlite3_stmt *st;
    TRY(change(s, "DELETE FROM track WHERE config = ?1", r));
    for (int64_t i = 0; i < h->n; i++) TRY(keep_track(s, r, &h->track[i]));
    TRY(prepare(s,
                "INSERT INTO run (config, bytes, changed) VALUES (?1, ?2, ?3) ON CONFLICT "
                "(config) DO UPDATE SET bytes = ?2, changed = ?3",
                r, &st));
    sqlite3_bind_int64(st, 2, file->st_size);
    sqlite3_bind_int64(st, 3, changed_at(file));
    return finish(s, st);
}

/* Losses are kept in full, for questions about single steps; the others as they are drawn. */
static Error *read_again(SweepStore *s, Arena *a, const SweepRun *r, const char *path,
                         const struct stat *file, History *out)
{
    TRY(history_read(a, path, out));
    for (int64_t i = 0; i < out->n; i++)
        if (!out->track[i].is_loss) out->track[i] = track_thinned(a, &out->track[i], SHOWN_POINTS);
    TRY(run_sql(s, "BEGIN IMMEDIATE"));
    Error *e = keep_all(s, r, out, file);
    return error_join(e, run_sql(s, e ? "ROLLBACK" : "COMMIT"));
}

static Error *read_kept(SweepStore *s, Arena *a, const SweepRun *r, History *out)
{
    sqlite3_stmt *st;
    TRY(prepare(s, "SELECT tag, key, is_loss, n, step, value FROM track WHERE config = ?1", r,
                &st));
    while (sqlite3_step(st) == SQLITE_ROW) {
        out->track = arena_grow(a, out->track, out->n, &out->cap, sizeof *out->track);
        Track *t = &out->track[out->n++];
        *t = (Track){ .tag = arena_string(a, (const char *)sqlite3_column_text(st, 0)),
                      .key = arena_string(a, (const char *)sqlite3_column_text(st, 1)),
                      .is_loss = sqlite3_column_int(st, 2),
                      .n = sqlite3_column_int64(st, 3) };
        t->cap = t->n;
        t->step = arena_copy(a, sqlite3_column_blob(st, 4), sizeof(double) * (size_t)t->n);
        t->value = arena_copy(a, sqlite3_column_blob(st, 5), sizeof(double) * (size_t)t->n);
        out->n_rows = t->n > out->n_rows ? t->n : out->n_rows;
    }
    sqlite3_finalize(st);
    return NULL;
}

Error *sweep_store_history(SweepStore *s, Arena *a, const SweepRun *r, History *out)
{
    const char *path = path_join(a, r->folder, "evaluation_results.jsonl");
    struct stat file;
    *out = (History){ 0 };
    if (stat(path, &file)) return NULL;
    return is_fresh(s, r, &file) ? read_kept(s, a, r, out) : read_again(s, a, r, path, &file, out);
}
