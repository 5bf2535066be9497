/* version.h - the version of this program. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define PROGRAM_VERSION "0.1.0"
#endif
