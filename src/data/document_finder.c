/* document_finder.c - binary search in the ends of documents. */
#include "data/document_finder.h"

Error *document_finder_open(Arena *a, const Pbin *file, DocumentFinder *out)
{
    PbinDocuments d;
    IndexEntry e;
    TRY(pbin_documents_open(a, file, &d));
    *out = (DocumentFinder){ file, NEW_N(a, int64_t, d.n ? d.n : 1), d.n };
    for (int64_t i = 0; pbin_documents_next(&d, &e); i++)
        out->end[i] = (e.offset + e.length) / file->token_bytes;
    return NULL;
}

int64_t document_finder_find(const DocumentFinder *d, int64_t token, int64_t *first)
{
    CHECK(token >= 0 && token < d->file->n_tokens);
    int64_t low = 0, high = d->n - 1; /* the first document that ends after the token */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (d->end[middle] > token)
            high = middle;
        else
            low = middle + 1;
    }
    *first = low ? d->end[low - 1] : 0;
    return low;
}
