/* shared_order.h - a random order in memory that the processes of a machine have in common. */
#ifndef DATA_SHARED_ORDER_H
#define DATA_SHARED_ORDER_H
#include "base/arena.h"
#include "base/error.h"
#include <stdint.h>

/* The folder whose files are memory. */
extern const char shared_order_folder[];

/* What is shared, and how it is made when no other process has it: `make` fills n entries of
 * entry_bytes (4 or 8) that depend on seed and n only. */
typedef struct SharedOrder {
    const char *folder;
    int64_t n, entry_bytes;
    uint64_t seed;
    void (*make)(uint64_t seed, int64_t n, int64_t entry_bytes, void *out);
} SharedOrder;

/* The entries, valid as long as the arena. Waits while another process makes them. The error says
 * why they cannot be shared: no room, no such folder, a file of another user. */
Error *shared_order_open(Arena *a, const SharedOrder *order, const void **out);
#endif
