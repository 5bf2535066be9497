/* text_input.h - texts given as files, folders, patterns or standard input, plain or compressed.
 *
 * What is no plain file is written to a temporary file beside the output first, so that all texts
 * can be read in parallel and bad lines be named alike, whatever the size and the memory; or it
 * comes as a stream. */
#ifndef BASE_TEXT_INPUT_H
#define BASE_TEXT_INPUT_H
#include "base/file.h"
#include "base/text_stream.h"

/* "-" (standard input), an existing file or folder, or a pattern that matches. */
bool text_input_exists(const char *given);
/* A file as it is: neither compressed, nor "-", nor more than one. */
bool text_input_is_plain_file(const char *given);
/* Whether a folder that is given stands for a file of this name, too. */
bool text_input_is_text_name(const char *path);
/* Appends the files that each input stands for, in order: folders give all *.jsonl, *.jsonl.gz and
 * *.jsonl.zst below, sorted, patterns what matches, sorted. An input that gives none is an error,
 * and so is Parquet. */
Error *text_inputs_list(Arena *a, const char *const *given, int64_t n, PathList *out);

/* What these files take on the disk; standard input counts nothing. */
int64_t text_inputs_bytes(const PathList *files);

typedef struct TextInput {
    const char *path; /* "-": standard input */
    Str text;
    int64_t stored_bytes; /* on the disk, compressed or not; 0 for standard input */
    TextStream *stream;   /* gives the text, where that was asked for; else NULL */
} TextInput;

/* The texts of listed files one after the other. */
typedef struct TextInputs TextInputs;

/* Up to n_threads compressed files are decompressed at a time, into temporary files beside
 * `beside`. */
TextInputs *text_inputs_open(const PathList *files, const char *beside, int n_threads);
/* From now on an input that is not plain and would be decompressed alone, while nothing else can be
 * done, is given as a stream (text_stream.h). */
void text_inputs_stream(TextInputs *t, int64_t most_line_bytes);
/* The next text, valid until the next call; false after the last one. */
Error *text_inputs_next(TextInputs *t, TextInput *out, bool *some);
void text_inputs_close(TextInputs *t);

/* One text, as long as the arena. */
Error *text_input_open(Arena *a, const char *path, const char *beside, TextInput *out);
#endif
