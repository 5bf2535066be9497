/* dims.c - parses and binds the notation of dims.h. */
#include "tensor/dims.h"
#include "base/str.h"
#include <stdio.h>
#include <string.h>

/* Number of dimensions written explicitly, with or without a star in front. */
static int explicit_dims(const char *from, const char *to, bool *has_star)
{
    int n = 0;
    *has_star = false;
    for (const char *p = from; p < to; p++) {
        if (*p == '*')
            *has_star = true;
        else if (*p == '(') {
            n++;
            while (p < to && *p != ')') p++;
        } else if (*p != '!')
            n++;
    }
    return n;
}

static const char *operand_end(const char *p)
{
    while (*p && *p != ',' && strncmp(p, "->", 2)) p++;
    return p;
}

static Error *parse_operand(const char *from, const char *to, DimSpec *spec, Operand *o)
{
    for (const char *p = from; p < to; p++) {
        if (*p == '!') {
            if (!o->n_dims) return error_new("dims \"%s\": '!' without a dimension", spec->text);
            DimRef *last = &o->dim[o->n_dims - 1];
            for (int i = 0; i < last->n; i++) spec->whole[last->slot[i]] = true;
            continue;
        }
        if (*p == '*') {
            for (int i = 0; i < spec->n_star; i++) {
                if (o->n_dims == MAX_DIMS)
                    return error_new("dims \"%s\": more than %d dimensions", spec->text, MAX_DIMS);
                o->dim[o->n_dims++] = (DimRef){ .n = 1, .slot = { N_LETTERS + i } };
            }
            continue;
        }
        bool group = *p == '(';
        if (o->n_dims == MAX_DIMS)
            return error_new("dims \"%s\": more than %d dimensions", spec->text, MAX_DIMS);
        DimRef *ref = &o->dim[o->n_dims++];
        for (p += group; p < to && *p != ')'; p++) {
            if (*p < 'a' || *p > 'z')
                return error_new("dims \"%s\": unexpected '%c'", spec->text, *p);
            if (ref->n == MAX_FACTORS)
                return error_new("dims \"%s\": more than %d factors", spec->text, MAX_FACTORS);
            ref->slot[ref->n++] = *p - 'a';
            if (!group) break;
        }
    }
    return NULL;
}

static int count_operands(const char *from, const char *to)
{
    int n = 1;
    for (const char *p = from; p < to; p++) n += *p == ',';
    return n;
}

/* How many dimensions `*` stands for: what the first operand with a star leaves over. */
static Error *find_star(const char *text, const char *arrow, int n_in, const Shape *in, int *n_star)
{
    *n_star = -1;
    const char *p = text;
    for (int k = 0; k < n_in; k++) {
        const char *end = operand_end(p);
        bool star;
        int n = explicit_dims(p, end, &star);
        int left = in[k].n_dims - n;
        if (left < 0 || (!star && left > 0))
            return error_new("input %d has %d dimensions, expected %s%d by \"%s\"", k, in[k].n_dims,
                             star ? "at least " : "", n, text);
        if (star && *n_star < 0)
            *n_star = left;
        else if (star && *n_star != left)
            return error_new("input %d has %d dimensions, expected %d by \"%s\"", k, in[k].n_dims,
                             n + *n_star, text);
        p = end < arrow ? end + 1 : end;
    }
    if (*n_star < 0) *n_star = 0;
    return NULL;
}

/* "=" */
static const DimSpec *same_shapes(Arena *a, int n, const Shape *in)
{
    DimSpec *spec = NEW(a, DimSpec);
    *spec = (DimSpec){ .text = "=", .n_in = n, .n_out = n, .in = NEW_N(a, Operand, n) };
    for (int k = 0; k < n; k++) {
        spec->in[k].n_dims = in[k].n_dims;
        for (int d = 0; d < in[k].n_dims; d++)
            spec->in[k].dim[d] = (DimRef){ .size = in[k].size[d] };
    }
    spec->out = spec->in;
    return spec;
}

Error *dims_parse(Arena *a, const char *text, int n_in, const Shape *in, const DimSpec **out)
{
    if (!strcmp(text, "=")) {
        *out = same_shapes(a, n_in, in);
        return NULL;
    }
    const char *results = strstr(text, "->"), *arrow = results ? results : text + strlen(text);
    DimSpec *spec = NEW(a, DimSpec);
    spec->text = arena_string(a, text);
    spec->n_in = arrow == text ? 0 : count_operands(text, arrow);
    spec->n_out = results ? count_operands(results + 2, text + strlen(text)) : 0;
    spec->in = NEW_N(a, Operand, spec->n_in);
    spec->out = NEW_N(a, Operand, spec->n_out);
    if (spec->n_in != n_in)
        return error_new("%d inputs, expected %d by \"%s\"", n_in, spec->n_in, text);
    TRY(find_star(text, arrow, n_in, in, &spec->n_star));
    const char *p = text;
    for (int k = 0; k < n_in; k++) {
        const char *end = operand_end(p);
        TRY(parse_operand(p, end, spec, &spec->in[k]));
        p = end < arrow ? end + 1 : end;
    }
    if (results) p = results + 2;
    for (int k = 0; k < spec->n_out; k++) {
        const char *end = operand_end(p);
        TRY(parse_operand(p, end, spec, &spec->out[k]));
        p = *end ? end + 1 : end;
    }
    *out = spec;
    return NULL;
}

static const char *slot_name(int slot, char *buf)
{
    if (slot < N_LETTERS)
        sprintf(buf, "%c", 'a' + slot);
    else
        sprintf(buf, "leading dimension %d", slot - N_LETTERS);
    return buf;
}

static Error *bind_slot(const DimSpec *spec, int slot, int64_t size, int operand,
                        int64_t *slot_size)
{
    char name[32];
    if (slot_size[slot] && slot_size[slot] != size)
        return error_new("input %d: %s is %lld, but %lld elsewhere (\"%s\")", operand,
                         slot_name(slot, name), (long long)size, (long long)slot_size[slot],
                         spec->text);
    slot_size[slot] = size;
    return NULL;
}

/* A composite dimension determines its one unknown factor. */
static Error *bind_dim(const DimSpec *spec, const DimRef *ref, int64_t size, int operand,
                       int64_t *slot_size, bool *open)
{
    int64_t known = ref->n ? 1 : ref->size;
    int unknown = -1, n_unknown = 0;
    for (int i = 0; i < ref->n; i++) {
        if (slot_size[ref->slot[i]]) {
            known *= slot_size[ref->slot[i]];
        } else {
            unknown = ref->slot[i];
            n_unknown++;
        }
    }
    if (n_unknown > 1) {
        *open = true;
        return NULL;
    }
    if (n_unknown == 0 && ref->n == 1)
        return bind_slot(spec, ref->slot[0], size, operand, slot_size);
    if (size % known || (n_unknown == 0 && size != known))
        return error_new("input %d: a dimension of %lld is not a multiple of %lld (\"%s\")",
                         operand, (long long)size, (long long)known, spec->text);
    return n_unknown ? bind_slot(spec, unknown, size / known, operand, slot_size) : NULL;
}

static Error *bind_hints(const DimSpec *spec, const char *sizes, int64_t *slot_size)
{
    for (const char *p = sizes ? sizes : ""; *p;) {
        char letter;
        long long size;
        int used = 0;
        if (sscanf(p, " %c=%lld%n", &letter, &size, &used) != 2 || letter < 'a' || letter > 'z')
            return error_new("sizes \"%s\": expected \"d=64 g=4\"", sizes);
        TRY(bind_slot(spec, letter - 'a', size, -1, slot_size));
        p += used;
        while (*p == ' ') p++;
    }
    return NULL;
}

Error *dims_bind(const DimSpec *spec, const Shape *in, const char *sizes, int64_t *slot_size)
{
    memset(slot_size, 0, sizeof *slot_size * N_SLOTS);
    TRY(bind_hints(spec, sizes, slot_size));
    bool open = true;
    for (int round = 0; open && round < 3;
         round++) { /* later operands may settle earlier composites */
        open = false;
        for (int k = 0; k < spec->n_in; k++)
            for (int d = 0; d < spec->in[k].n_dims; d++)
                TRY(bind_dim(spec, &spec->in[k].dim[d], in[k].size[d], k, slot_size, &open));
    }
    for (int k = 0; k < spec->n_out; k++)
        for (int d = 0; d < spec->out[k].n_dims; d++)
            for (int i = 0; i < spec->out[k].dim[d].n; i++)
                if (!slot_size[spec->out[k].dim[d].slot[i]])
                    return error_new("the size of '%c' is not determined (\"%s\")",
                                     'a' + spec->out[k].dim[d].slot[i], spec->text);
    return NULL;
}

Shape dims_shape(const Operand *o, const int64_t *slot_size)
{
    Shape s = { .n_dims = o->n_dims };
    for (int d = 0; d < o->n_dims; d++) {
        s.size[d] = o->dim[d].n ? 1 : o->dim[d].size;
        for (int i = 0; i < o->dim[d].n; i++) s.size[d] *= slot_size[o->dim[d].slot[i]];
    }
    return s;
}

int64_t dims_volume(const DimSpec *spec, const int64_t *slot_size)
{
    int64_t n = 1;
    for (int s = 0; s < N_SLOTS; s++) {
        bool used = false;
        for (int k = 0; k < spec->n_in; k++) used |= dims_uses(&spec->in[k], s);
        for (int k = 0; k < spec->n_out; k++) used |= dims_uses(&spec->out[k], s);
        if (used) n *= slot_size[s];
    }
    return n;
}

bool dims_uses(const Operand *o, int slot)
{
    for (int d = 0; d < o->n_dims; d++)
        for (int i = 0; i < o->dim[d].n; i++)
            if (o->dim[d].slot[i] == slot) return true;
    return false;
}
