/* tile_shapes.h - what AMX wants to know of its tiles before they are used. */
#ifndef BASE_TILE_SHAPES_H
#define BASE_TILE_SHAPES_H
#include <stdint.h>

/* The operand of ldtilecfg: of each tile, bytes of a row and rows. */
typedef struct TileShapes {
    uint8_t palette, first_row, unused[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} TileShapes;

/* All eight tiles as large as they come: 16 rows of 64 bytes. */
static const TileShapes whole_tiles = {
    .palette = 1,
    .row_bytes = { 64, 64, 64, 64, 64, 64, 64, 64 },
    .rows = { 16, 16, 16, 16, 16, 16, 16, 16 },
};
#endif
