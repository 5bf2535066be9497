/* megatron_index.c - reads and checks .idx files of Megatron-LM and fairseq. */
#include "data/megatron_index.h"
#include <string.h>

const char megatron_magic[9] = "MMIDIDX\0";

enum { MOST_BYTES_OF_A_SEQUENCE = 12, SHORT_HEADER = 26, LONG_HEADER = 34 };

/* By the number in the file; both programs agree on all but those for floats (6, 7). */
static const struct {
    int bytes;
    bool is_signed;
} types[] = {
    [1] = { 1, false }, [2] = { 1, true },   [3] = { 2, true },  [4] = { 4, true },
    [5] = { 8, true },  [6] = { 0, false },  [7] = { 0, false }, [8] = { 2, false },
    [9] = { 4, false }, [10] = { 8, false },
};

uint8_t megatron_type(int token_bytes)
{
    CHECK(token_bytes == 1 || token_bytes == 2 || token_bytes == 4);
    return token_bytes == 1 ? 1 : token_bytes == 2 ? 8 : 4;
}

static int64_t load(const uint8_t *p, int64_t i)
{
    int64_t v;
    memcpy(&v, p + 8 * i, 8);
    return v;
}

static int32_t length_of(const MegatronIndex *m, int64_t i)
{
    int32_t v;
    memcpy(&v, m->length + 4 * i, 4);
    return v;
}

int64_t megatron_place(const MegatronIndex *m, int64_t i)
{
    return load(m->place, i);
}

int64_t megatron_bytes(const MegatronIndex *m, int64_t i)
{
    return (int64_t)length_of(m, i) * m->token_bytes;
}

int64_t megatron_first(const MegatronIndex *m, int64_t d)
{
    return m->first ? load(m->first, d) : d;
}

static Error *read_header(Str bytes, const char *name, MegatronIndex *out)
{
    uint64_t version;
    if (bytes.len >= 8 && !memcmp(bytes.ptr, "TNTIDX\0\0", 8))
        return error_new("%s: an index of the old kind without memory mapping (TNTIDX); write the "
                         "data anew with --dataset-impl mmap",
                         name);
    if (bytes.len < SHORT_HEADER || memcmp(bytes.ptr, megatron_magic, sizeof megatron_magic) != 0)
        return error_new("%s: no index of Megatron-LM or fairseq: it does not begin with MMIDIDX",
                         name);
    memcpy(&version, bytes.ptr + 9, 8);
    if (version != 1)
        return error_new("%s: version %llu, known is 1", name, (unsigned long long)version);
    uint8_t type = (uint8_t)bytes.ptr[17];
    if (type >= sizeof types / sizeof *types || !types[type].bytes)
        return error_new("%s: type %d of tokens, allowed are whole numbers: 1 to 5 and 8 to 10",
                         name, type);
    out->token_bytes = types[type].bytes;
    out->is_signed = types[type].is_signed;
    return NULL;
}

/* Which of the forms has exactly this size. */
static Error *find_arrays(Str bytes, const char *name, const uint8_t **modes, MegatronIndex *m)
{
    const uint8_t *p = (const uint8_t *)bytes.ptr;
    uint64_t n = (uint64_t)load(p + 18, 0), n_first = 0, rest = bytes.len - SHORT_HEADER;
    *modes = NULL;
    if (n > rest / MOST_BYTES_OF_A_SEQUENCE)
        return error_new("%s: cut short: %zu bytes do not hold %llu sequences", name, bytes.len,
                         (unsigned long long)n);
    rest -= n * MOST_BYTES_OF_A_SEQUENCE;
    if (rest >= 8) n_first = (uint64_t)load(p + SHORT_HEADER, 0);
    bool may_fit = rest >= 8 && n_first <= (rest - 8) / 8;
    bool has_modes = may_fit && n && rest == 8 + 8 * n_first + n;
    if (may_fit && (has_modes || rest == 8 + 8 * n_first)) {
        m->form = MEGATRON_INDEX;
        m->length = p + LONG_HEADER;
    } else if (rest == 0) {
        m->form = FAIRSEQ_INDEX;
        m->length = p + SHORT_HEADER;
    } else {
        return error_new("%s: %zu bytes fit neither Megatron-LM's nor fairseq's index of %llu "
                         "sequences; cut short, or another format",
                         name, bytes.len, (unsigned long long)n);
    }
    m->n_sequences = (int64_t)n;
    m->place = m->length + 4 * n;
    if (m->form == MEGATRON_INDEX) {
        m->first = m->place + 8 * n;
        m->n_documents = (int64_t)n_first - 1;
        if (has_modes) *modes = m->first + 8 * n_first;
    }
    return NULL;
}

static Error *check_sequences(const MegatronIndex *m, const char *name, const uint8_t *modes,
                              int64_t bin_bytes)
{
    for (int64_t i = 0; i < m->n_sequences; i++) {
        int64_t place = megatron_place(m, i), n = megatron_bytes(m, i);
        if (length_of(m, i) < 0 || place < 0 || place > bin_bytes || n > bin_bytes - place)
            return error_new("%s: sequence %lld is %d tokens of %d bytes at byte %lld of the .bin "
                             "file, which has %lld bytes",
                             name, (long long)i, length_of(m, i), m->token_bytes, (long long)place,
                             (long long)bin_bytes);
        if (modes && modes[i])
            return error_new("%s: sequence %lld is no text (mode %d)", name, (long long)i,
                             (int8_t)modes[i]);
    }
    return NULL;
}

static Error *check_documents(const MegatronIndex *m, const char *name)
{
    if (m->n_documents < 0)
        return error_new("%s: its list of documents lacks the first entry; --unit sequence takes "
                         "each sequence as a document",
                         name);
    for (int64_t d = 0, last = 0; d <= m->n_documents; d++) {
        int64_t first = load(m->first, d);
        bool is_right = d == 0 ? first == 0 : first >= last;
        if (d == m->n_documents) is_right &= first == m->n_sequences;
        if (!is_right || first > m->n_sequences)
            return error_new("%s: document %lld begins with sequence %lld; documents must cover "
                             "sequences 0 to %lld in order (--unit sequence takes each sequence as "
                             "a document)",
                             name, (long long)d, (long long)first, (long long)m->n_sequences - 1);
        last = first;
    }
    return NULL;
}

Error *megatron_index_open(Str bytes, const char *name, int64_t bin_bytes, bool by_sequence,
                           MegatronIndex *out)
{
    const uint8_t *modes;
    *out = (MegatronIndex){ 0 };
    TRY(read_header(bytes, name, out));
    TRY(find_arrays(bytes, name, &modes, out));
    TRY(check_sequences(out, name, modes, bin_bytes));
    if (out->first && !by_sequence) return check_documents(out, name);
    out->first = NULL;
    out->n_documents = out->n_sequences;
    return NULL;
}
