/* data_shuffle.c - shuffles a file as two commands ask for it. */
#include "data_shuffle.h"
#include "base/signal.h"

Error *run_shuffle(Arena *a, const ShuffleOptions *o, PieceFormat format)
{
    bool write;
    ShuffleSummary done;
    TRY(prepare_output(a, o->output_data_path, o->file_existence_policy, &write));
    if (!write) return NULL;
    signal_catch();
    double start = clock_seconds();
    int64_t seed = 0;
    if (o->seed)
        seed = *o->seed;
    else if (!find_drawn_seed(a, o->output_data_path, &seed))
        seed = draw_seed("--seed");
    BadLines bad;
    TRY(bad_lines_open((BadLinePolicy)o->on_bad_line, o->bad_line_report, &bad));
    bad.max_line_bytes = o->max_line_bytes;
    Error *e = shuffle_file(format, o->input_data_path, o->output_data_path, seed, &bad, &done);
    if (!e) bad_lines_tell(&bad, o->output_data_path, bad.n + done.n_pieces);
    TRY(error_join(e, bad_lines_close(&bad, !e)));
    tell_rewritten(o->output_data_path, done.n_pieces,
                   format == PIECES_PBIN ? "documents" : "lines", done.n_bytes, start);
    return NULL;
}
