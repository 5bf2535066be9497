/* index.c - pickle writer and reader for lists of pairs of integers. */
#include "data/index.h"
#include <string.h>

/* Opcodes, named as in CPython's pickle.py. */
enum {
    PROTO = 0x80,
    FRAME = 0x95,
    STOP = '.',
    MARK = '(',
    EMPTY_LIST = ']',
    APPEND = 'a',
    APPENDS = 'e',
    TUPLE2 = 0x86,
    MEMOIZE = 0x94,
    BINPUT = 'q',
    LONG_BINPUT = 'r',
    BINGET = 'h',
    LONG_BINGET = 'j',
    BININT1 = 'K',
    BININT2 = 'M',
    BININT = 'J',
    LONG1 = 0x8a,
    LONG4 = 0x8b,
};

enum { FRAME_TARGET = 65536, FRAME_MIN = 4, BATCH = 1000 };

/* ---- writer ---- */

/* Writes the bytes of a number, which fit into eight; eight are written. */
static char *put_number(char *to, uint64_t v, int64_t n_bytes)
{
    memcpy(to, &v, sizeof v); /* little-endian, as the format and all CPUs we run on */
    return to + n_bytes;
}

static void close_frame(IndexWriter *w)
{
    char header[9] = { (char)FRAME };
    put_number(header + 1, w->frame.len, 8);
    if (w->frame.len >= FRAME_MIN) fwrite(header, 1, sizeof header, w->stream);
    if (w->frame.len) fwrite(w->frame.ptr, 1, w->frame.len, w->stream);
    text_clear(&w->frame);
}

/* A frame ends before the first object that finds it full. */
static void begin_object(IndexWriter *w)
{
    if (w->frame.len >= FRAME_TARGET) close_frame(w);
}

static char *put_integer(char *to, int64_t v)
{
    CHECK(v >= 0);
    int64_t n_bytes = v < 1 << 8 ? 1 : v < 1 << 16 ? 2 : v <= INT32_MAX ? 4 : 0;
    *to++ = (char)(n_bytes == 1 ? BININT1 : n_bytes == 2 ? BININT2 : n_bytes ? BININT : LONG1);
    if (!n_bytes) { /* with room for the sign bit of two's complement */
        n_bytes = (64 - __builtin_clzll((uint64_t)v)) / 8 + 1;
        *to++ = (char)n_bytes;
    }
    return put_number(to, (uint64_t)v, n_bytes);
}

/* Opcode, size, eight bytes written. */
enum { INTEGER_BYTES = 10 };

static void add_integer(IndexWriter *w, int64_t v)
{
    begin_object(w);
    char *to = text_reserve(&w->frame, INTEGER_BYTES);
    text_extend(&w->frame, (size_t)(put_integer(to, v) - to));
}

static char *put_end_of_pair(char *to)
{
    *to++ = (char)TUPLE2;
    *to++ = (char)MEMOIZE;
    return to;
}

static void put_pair(IndexWriter *w, int64_t offset, int64_t length)
{
    enum { PAIR_BYTES = 2 * INTEGER_BYTES + 2 };
    begin_object(w);
    if (w->frame.len + PAIR_BYTES <= FRAME_TARGET) { /* no frame ends in this pair */
        char *to = text_reserve(&w->frame, PAIR_BYTES);
        char *end = put_end_of_pair(put_integer(put_integer(to, offset), length));
        text_extend(&w->frame, (size_t)(end - to));
        return;
    }
    add_integer(w, offset);
    add_integer(w, length);
    char end[2];
    put_end_of_pair(end);
    text_add(&w->frame, end, sizeof end);
}

void index_begin(IndexWriter *w, FILE *stream)
{
    *w = (IndexWriter){ .stream = stream };
    fwrite("\x80\x04", 1, 2, stream);
    text_putc(&w->frame, EMPTY_LIST);
    text_putc(&w->frame, (char)MEMOIZE);
}

void index_add(IndexWriter *w, int64_t offset, int64_t length)
{
    if (w->n++ == 0) {
        w->first = (IndexEntry){ offset, length };
        return;
    }
    if (w->n == 2) {
        text_putc(&w->frame, MARK);
        put_pair(w, w->first.offset, w->first.length);
    } else if ((w->n - 1) % BATCH == 0) {
        text_putc(&w->frame, APPENDS);
        text_putc(&w->frame, MARK);
    }
    put_pair(w, offset, length);
}

void index_end(IndexWriter *w)
{
    if (w->n == 1) put_pair(w, w->first.offset, w->first.length);
    if (w->n) text_putc(&w->frame, w->n == 1 ? APPEND : APPENDS);
    text_putc(&w->frame, STOP);
    close_frame(w);
    index_abandon(w);
}

void index_abandon(IndexWriter *w)
{
    text_free(&w->frame);
}

/* ---- reader ----
 * A recursive-descent parser of the few shapes a list of pairs has. It runs over the bytes twice:
 * once in index_open, to count and to find every fault before any entry is used, then entry by
 * entry. */

typedef enum { BEFORE_BATCH, IN_BATCH, BEHIND_END } Place;

struct IndexReader {
    const uint8_t *p, *start, *end;
    const uint8_t *frame_end; /* NULL outside of frames */
    const char *name;
    int64_t name_offset;
    Place place;
    int64_t n, end_offset;
    /* Pairs by memo number, kept only where the pickle refers back to one (never in our own files).
     */
    Arena *arena;
    bool keeps_memo, has_reference;
    IndexEntry *memo;
    int64_t n_memo, memo_cap, memo_of_list;
};

static Error *bad(const IndexReader *r, const char *what)
{
    return error_new("%s: the index is damaged at byte %lld: %s", r->name,
                     (long long)r->name_offset + (r->p - r->start), what);
}

/* Takes n bytes of an opcode's argument. */
static Error *take(IndexReader *r, int64_t n, const uint8_t **out)
{
    const uint8_t *limit = r->frame_end ? r->frame_end : r->end;
    *out = r->p;
    if (limit - r->p < n)
        return bad(r, r->frame_end ? "its frame ends too early" : "it is cut short");
    r->p += n;
    return NULL;
}

static uint64_t little_endian(const uint8_t *b, int64_t n)
{
    uint64_t v = 0;
    for (int64_t i = n - 1; i >= 0; i--) v = v << 8 | b[i];
    return v;
}

/* The next opcode, through frame headers. */
static Error *take_opcode(IndexReader *r, uint8_t *out)
{
    const uint8_t *b;
    for (;;) {
        if (r->frame_end && r->p == r->frame_end) r->frame_end = NULL;
        TRY(take(r, 1, &b));
        *out = *b;
        if (*b != FRAME) return NULL;
        if (r->frame_end) return bad(r, "a frame inside a frame");
        TRY(take(r, 8, &b));
        uint64_t length = little_endian(b, 8);
        if (length > (uint64_t)(r->end - r->p)) return bad(r, "it is cut short inside a frame");
        r->frame_end = r->p + length;
    }
}

static void put_back(IndexReader *r)
{
    r->p--;
}

static Error *unexpected(IndexReader *r, uint8_t opcode, const char *wanted)
{
    char what[96];
    put_back(r);
    snprintf(what, sizeof what, "pickle opcode 0x%02x where %s should be", opcode, wanted);
    return bad(r, what);
}

/* Notes the value made last, if the pickle does. `entry` is NULL for a list that is not complete;
 * its number goes to *number and memo_set fills it in later. */
static Error *take_memo(IndexReader *r, const IndexEntry *entry, int64_t *number)
{
    uint8_t opcode;
    const uint8_t *b;
    *number = -1;
    if (r->p == r->end) return NULL;
    TRY(take_opcode(r, &opcode));
    if (opcode == BINPUT || opcode == LONG_BINPUT) {
        int n_bytes = opcode == BINPUT ? 1 : 4;
        TRY(take(r, n_bytes, &b));
        if ((int64_t)little_endian(b, n_bytes) != r->n_memo)
            return bad(r, "memo numbers out of order");
    } else if (opcode != MEMOIZE) {
        put_back(r);
        return NULL;
    }
    *number = r->n_memo++;
    if (!r->keeps_memo) return NULL;
    r->memo = arena_grow(r->arena, r->memo, *number, &r->memo_cap, sizeof *r->memo);
    r->memo[*number] = entry ? *entry : (IndexEntry){ -1, -1 };
    return NULL;
}

static Error *take_reference(IndexReader *r, int n_bytes, IndexEntry *out)
{
    const uint8_t *b;
    TRY(take(r, n_bytes, &b));
    int64_t number = (int64_t)little_endian(b, n_bytes);
    if (number >= r->n_memo || number == r->memo_of_list)
        return bad(r, "a reference to no earlier pair");
    r->has_reference = true;
    *out = r->keeps_memo ? r->memo[number] : (IndexEntry){ 0, 0 };
    return NULL;
}

static Error *take_integer(IndexReader *r, int64_t *out)
{
    uint8_t opcode;
    const uint8_t *b;
    TRY(take_opcode(r, &opcode));
    int64_t n = opcode == BININT1 ? 1 : opcode == BININT2 ? 2 : opcode == BININT ? 4 : 0;
    if (opcode == LONG1 || opcode == LONG4) {
        int64_t n_size = opcode == LONG1 ? 1 : 4;
        TRY(take(r, n_size, &b));
        n = (int64_t)little_endian(b, n_size);
    } else if (!n) {
        return unexpected(r, opcode, "an integer");
    }
    TRY(take(r, n, &b));
    bool is_signed = opcode != BININT1 && opcode != BININT2;
    if (is_signed && n && b[n - 1] & 0x80) return bad(r, "a negative number");
    while (n > 0 && b[n - 1] == 0) n--; /* sign bytes */
    if (n > 8 || (n == 8 && b[7] & 0x80)) return bad(r, "a number of more than 63 bits");
    *out = (int64_t)little_endian(b, n);
    return NULL;
}

static Error *expect(IndexReader *r, uint8_t wanted, const char *name)
{
    uint8_t opcode;
    TRY(take_opcode(r, &opcode));
    return opcode == wanted ? NULL : unexpected(r, opcode, name);
}

/* A pair as a list: ] ( offset length e */
static Error *take_list_pair(IndexReader *r, IndexEntry *out)
{
    int64_t number;
    TRY(take_memo(r, NULL, &number));
    TRY(expect(r, MARK, "the start of a pair"));
    TRY(take_integer(r, &out->offset));
    TRY(take_integer(r, &out->length));
    TRY(expect(r, APPENDS, "the end of a pair"));
    if (number >= 0 && r->keeps_memo) r->memo[number] = *out;
    return NULL;
}

static Error *take_pair(IndexReader *r, uint8_t opcode, IndexEntry *out)
{
    int64_t number;
    if (opcode == BINGET) return take_reference(r, 1, out);
    if (opcode == LONG_BINGET) return take_reference(r, 4, out);
    if (opcode == EMPTY_LIST) return take_list_pair(r, out);
    put_back(r);
    TRY(take_integer(r, &out->offset));
    TRY(take_integer(r, &out->length));
    TRY(expect(r, TUPLE2, "the end of a pair"));
    return take_memo(r, out, &number);
}

static Error *begin_list(IndexReader *r)
{
    const uint8_t *b;
    r->p = r->start;
    r->frame_end = NULL;
    r->n_memo = 0;
    r->memo_of_list = -1;
    TRY(expect(r, PROTO, "the start of a pickle"));
    TRY(take(r, 1, &b));
    if (*b < 2 || *b > 5) return bad(r, "a pickle protocol other than 2 to 5");
    TRY(expect(r, EMPTY_LIST, "a list"));
    r->place = BEFORE_BATCH;
    return take_memo(r, NULL, &r->memo_of_list);
}

/* The next entry, or *some = false at the end of the list. */
static Error *take_entry(IndexReader *r, IndexEntry *out, bool *some)
{
    uint8_t opcode;
    *some = false;
    for (;;) {
        TRY(take_opcode(r, &opcode));
        if (r->place == BEFORE_BATCH && opcode == MARK) {
            r->place = IN_BATCH;
        } else if (r->place == IN_BATCH && opcode == APPENDS) {
            r->place = BEFORE_BATCH;
        } else if (r->place == BEFORE_BATCH && opcode == STOP) {
            if (r->p != r->end) return bad(r, "more bytes after its end");
            r->place = BEHIND_END;
            return NULL;
        } else {
            TRY(take_pair(r, opcode, out));
            *some = true;
            return r->place == IN_BATCH ? NULL : expect(r, APPEND, "the end of an entry");
        }
    }
}

Error *index_open(Arena *a, Str bytes, const char *name, int64_t name_offset, IndexReader **out)
{
    IndexReader *r = NEW(a, IndexReader);
    r->start = (const uint8_t *)bytes.ptr;
    r->end = r->start + bytes.len;
    r->name = arena_string(a, name);
    r->name_offset = name_offset;
    r->arena = a;
    TRY(begin_list(r));
    IndexEntry entry;
    for (bool some = true; some; r->n += some) {
        TRY(take_entry(r, &entry, &some));
        int64_t end =
            some && entry.length <= INT64_MAX - entry.offset ? entry.offset + entry.length : 0;
        if (end > r->end_offset) r->end_offset = end;
    }
    r->keeps_memo = r->has_reference;
    *out = r;
    return begin_list(r);
}

int64_t index_end_offset(const IndexReader *r)
{
    return r->end_offset;
}

int64_t index_count(const IndexReader *r)
{
    return r->n;
}

bool index_next(IndexReader *r, IndexEntry *out)
{
    bool some = false;
    if (r->place == BEHIND_END) return false;
    Error *e = take_entry(r, out, &some);
    CHECK(e == NULL); /* index_open saw the same bytes */
    return some;
}

void index_rewind(IndexReader *r)
{
    Error *e = begin_list(r);
    CHECK(e == NULL); /* index_open saw the same bytes */
}

IndexEntry *index_read_all(Arena *a, IndexReader *r)
{
    IndexEntry *entry = NEW_N(a, IndexEntry, r->n ? r->n : 1);
    for (int64_t i = 0; i < r->n; i++) CHECK(index_next(r, &entry[i]));
    return entry;
}
