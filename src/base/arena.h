/* arena.h - memory with a named lifetime: freeing an arena frees all that came from it. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Arena Arena;

/* A new empty arena; the caller frees it. Host memory exhaustion aborts the program. */
Arena *arena_new(void);
/* Frees the arena and everything allocated from it; NULL is allowed. */
void arena_free(Arena *a);
/* Releases everything that came from the arena and keeps one piece of memory for what comes next.
 */
void arena_clear(Arena *a);
/* `size` zeroed bytes aligned to 64; never NULL. */
void *arena_alloc(Arena *a, size_t size);
/* A copy of `size` bytes. */
void *arena_copy(Arena *a, const void *from, size_t size);
/* A copy of a C string. */
char *arena_string(Arena *a, const char *s);
/* A copy of `len` bytes with a NUL after them. */
char *arena_string_n(Arena *a, const char *s, size_t len);
/* Formatted text; the arena owns it. */
char *arena_printf(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *a, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));
/* Grows an array that came from `a` for one more item of `item_size` bytes: doubles `*cap` when `n`
 * reaches it and copies. Returns the array to use from now on. */
void *arena_grow(Arena *a, void *items, int64_t n, int64_t *cap, size_t item_size);
/* Calls release(arg) when the arena is freed, last registered first. */
void arena_on_free(Arena *a, void (*release)(void *arg), void *arg);

#define NEW(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define NEW_N(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))
#endif
