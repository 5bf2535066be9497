/* board.h - runs as one self-contained HTML page: curves, tables, settings. */
#ifndef BOARD_BOARD_H
#define BOARD_BOARD_H
#include "base/str.h"
#include "monitor/history.h"

/* A setting of a run, for filters and comparisons. */
typedef struct BoardSetting {
    const char *name, *value;
    bool is_seed; /* it only repeats: runs that differ in seeds alone are a group */
} BoardSetting;

typedef struct BoardRun {
    const char *name, *state;    /* state: "done", "running", ...; "" where it is not known */
    int64_t steps, target_steps; /* target_steps 0: not known */
    History history;
    const BoardSetting *setting;
    int64_t n_settings;
    const char *memory, *schedule, *samples; /* JSON, as run_record.h names them; NULL: none */
} BoardRun;

/* A table above the curves: statistics of a sweep. */
typedef struct BoardTable {
    const char *title, *note; /* note: a sentence below it, "" for none */
    const char *const *column;
    int n_columns;
    const char *const *cell; /* row by row */
    int64_t n_rows;
} BoardTable;

typedef struct Board {
    const char *title;
    const BoardRun *run;
    int64_t n_runs;
    const BoardTable *table;
    int n_tables;
    bool refreshes; /* the page loads itself again while it is open */
} Board;

/* "seed", "model_raw.config.seed". */
bool board_is_seed(const char *name);
/* Memory, schedule and texts of the run in this folder, as far as they are there. */
void board_read_pictures(Arena *a, const char *folder, BoardRun *to);
/* The runs below a folder, with the settings in which they differ. */
Error *board_collect(Arena *a, const char *folder, Board *out);
/* Whether a file holds such a page, which may be replaced unasked. */
bool board_is_page(Str content);
/* Writes the page; nothing half-written is ever seen under its name. */
Error *board_write(const Board *b, const char *path);
#endif
