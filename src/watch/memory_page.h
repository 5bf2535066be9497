/* memory_page.h - a program's memory as a page that opens without a network. */
#ifndef WATCH_MEMORY_PAGE_H
#define WATCH_MEMORY_PAGE_H
#include "exec/program.h"

/* One HTML file: bytes over the nodes of a step, tensors at any moment, the peak by layer. */
Error *memory_page_write(const Program *p, const char *path);
#endif
