/* target.h - the target of a token that does not count. */
#ifndef TENSOR_TARGET_H
#define TENSOR_TARGET_H

enum { IGNORED_TARGET = -100 };
#endif
