/* contract_pieces.h - products of which ranks make one piece while another travels between them.
 *
 * "gather_contract" is an all_gather and the products that read it: a rank multiplies its own rows
 * while those of the others come. "contract_scatter" is a product, or a sum of products, and the
 * reduce_scatter of it: pieces for the others leave while the own one is made. */
#ifndef OPS_CONTRACT_PIECES_H
#define OPS_CONTRACT_PIECES_H
#include "graph/op.h"

/* Attributes of both. */
typedef struct Pieces {
    int64_t dim;    /* of what is gathered, or of the result: the one that the ranks divide */
    int64_t second; /* gather_contract, by bits: products whose second factor is what is gathered */
    int wire;       /* contract_scatter: the dtype in which parts of a sum in F32 travel */
} Pieces;

/* In: the part x, then a factor for each product. Out: the products, and what is gathered, where
 * somebody else reads it. A product that lacks the divided letter is a sum over the pieces. */
extern const OpDef op_gather_contract;
/* In: pairs of factors, whose products are added up in their order. */
extern const OpDef op_contract_scatter;

enum { MOST_PRODUCTS = 8 };

/* A kernel of "contract", the op, and the bytes of scratch that it needs. */
typedef struct PieceKernel {
    const OpDef *op;
    Kernel *run;
    size_t (*scratch)(const Launch *l, int n_threads);
} PieceKernel;

/* contract_pieces_run.c: the dtype in which parts of a sum travel. */
Dtype contract_pieces_wire(const Launch *l);
/* Whether a kernel of "contract" serves all pieces. */
bool contract_pieces_serve(const Launch *l, const OpDef *op, bool (*serves)(const Launch *l));
size_t contract_pieces_scratch(const Launch *l, const PieceKernel *alone, int n_threads);
int gather_contract(const Launch *l, const PieceKernel *alone);
int contract_scatter(const Launch *l, const PieceKernel *alone);
#endif
