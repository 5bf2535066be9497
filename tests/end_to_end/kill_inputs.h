/* kill_inputs.h - what commands that are killed work on, in the test's folder. */
#ifndef TESTS_KILL_INPUTS_H
#define TESTS_KILL_INPUTS_H
#include "base/arena.h"
#include "base/str.h"

#define PACK "data pack_encoded_data pack.yaml --file_existence_policy override "
#define REWRITE " --file_existence_policy override"

/* A path in the folder; writes a file there, compressed as its name says. */
const char *kill_path(Arena *a, const char *name);
void kill_put(Arena *a, const char *name, Str content);
/* 30 lines with texts; each seventh one is bad if `some_bad`. */
Str kill_lines(Arena *a, int first, bool some_bad);
/* Inputs of all commands, and configurations that name them. */
void kill_make_inputs(Arena *a);

/* Runs the program in the folder with variables in front; `faults` for the shim, or "". Returns the
 * exit status, 128 + n for signal n. */
int kill_run(Arena *a, const char *variables, const char *faults, const char *args,
             const char **said);
/* The same without both; a failure fails the test. */
void kill_must(Arena *a, const char *args);
#endif
