/* groups.c - groups of ranks by axes of the mesh and by stream, kept in a list. */
#include "comm/groups.h"
#include "base/map.h"
#include "device/device.h"

typedef struct Group {
    struct Group *next;
    unsigned axes;
    int stream;
    Comm *comm;
    Device *device; /* whose memory `there` is for; NULL: none */
    Comm *there;
} Group;

struct Groups {
    Arena *arena;
    const Mesh *mesh;
    Comm *world;
    Group *first;
    Map *text; /* each by itself */
};

static void free_all(void *groups)
{
    for (Group *x = ((Groups *)groups)->first; x; x = x->next)
        if (x->comm->free) x->comm->free(x->comm);
}

Groups *groups_new(Arena *a, const Mesh *mesh, Comm *world)
{
    CHECK(world->size == mesh->world_size && world->rank == mesh->rank);
    Groups *g = NEW(a, Groups);
    *g = (Groups){ .arena = a, .mesh = mesh, .world = world, .text = map_new(a) };
    arena_on_free(a, free_all, g);
    return g;
}

Groups *groups_planned(Arena *a, const Mesh *mesh)
{
    Groups *g = NEW(a, Groups);
    *g = (Groups){ .arena = a, .mesh = mesh, .text = map_new(a) };
    return g;
}

const char *groups_text(Groups *g, const char *text)
{
    const char *kept = map_get(g->text, str_of(text));
    if (kept) return kept;
    kept = arena_string(g->arena, text);
    map_set(g->text, str_of(kept), (void *)kept);
    return kept;
}

const Mesh *groups_mesh(const Groups *g)
{
    return g->mesh;
}

Comm *groups_world(const Groups *g)
{
    return g->world;
}

unsigned mesh_live_axes(const Mesh *m)
{
    unsigned live = 0;
    for (int i = MESH_PP; i < MESH_N_AXES; i++)
        if (m->size[i] > 1) live |= 1u << i;
    return live;
}

int64_t mesh_ranks_along(const Mesh *m, unsigned axes)
{
    int64_t n = 1;
    for (int i = MESH_PP; i < MESH_N_AXES; i++)
        if (axes >> i & 1) n *= m->size[i];
    return n;
}

/* Whether a rank is at this one's place along all other axes. */
static bool is_member(const Mesh *m, unsigned axes, int64_t rank)
{
    for (int i = MESH_PP; i < MESH_N_AXES; i++)
        if (!(axes >> i & 1) &&
            mesh_coordinate(m, (MeshAxis)i, rank) != mesh_coordinate(m, (MeshAxis)i, m->rank))
            return false;
    return true;
}

const char *mesh_axes_text(Arena *a, unsigned axes)
{
    const char *text = "";
    for (int i = MESH_PP; i < MESH_N_AXES; i++)
        if (axes >> i & 1)
            text = arena_printf(a, "%s%s%s", text, *text ? " x " : "", mesh_axis_names[i - 1]);
    return text;
}

static Error *make_group(Groups *g, unsigned axes, int stream, Group **out)
{
    const Mesh *m = g->mesh;
    Group *x = NEW(g->arena, Group);
    *x = (Group){ .next = g->first, .axes = axes, .stream = stream };
    int *member = NEW_N(g->arena, int, m->world_size), n = 0, place = 0;
    for (int64_t r = 0; r < m->world_size; r++) {
        if (r == m->rank) place = n;
        if (is_member(m, axes, r)) member[n++] = (int)r;
    }
    int key = stream << MESH_N_AXES | (int)axes;
    if (g->world) {
        TRY(g->world->group(g->world, member, n, key, &x->comm));
    } else {
        x->comm = NEW(g->arena, Comm);
        *x->comm = (Comm){ .transport = "planned", .rank = place, .size = n };
    }
    x->comm->label = mesh_axes_text(g->arena, axes);
    g->first = x;
    *out = x;
    return NULL;
}

static Error *find_group(Groups *g, unsigned axes, int stream, Group **out)
{
    axes &= mesh_live_axes(g->mesh);
    for (Group *x = g->first; x; x = x->next)
        if (x->axes == axes && x->stream == stream) {
            *out = x;
            return NULL;
        }
    return make_group(g, axes, stream, out);
}

Error *groups_get(Groups *g, unsigned axes, int stream, Comm **out)
{
    Group *x;
    TRY(find_group(g, axes, stream, &x));
    *out = x->there ? x->there : x->comm;
    return NULL;
}

Error *groups_on_device(Groups *g, Device *d, unsigned axes, int stream, const bool *sends)
{
    Group *x;
    TRY(find_group(g, axes, stream, &x));
    if (!d->comm_new || !g->world) return NULL;
    if (x->device != d) x->there = NULL; /* it was another device's, and is gone with it */
    TRY(d->comm_new(d, x->comm, sends, &x->there));
    x->device = d;
    x->there->label = x->comm->label;
    return NULL;
}
