/* lost_pages.h - what happens when a mapped file becomes shorter while it is read. */
#ifndef BASE_LOST_PAGES_H
#define BASE_LOST_PAGES_H
#include "base/error.h"

/* From now on, reading a mapped page that its file has no more (or its disk cannot give) ends the
 * program with an error that names the file, and exit status 1, as a kill would: what is complete
 * stays, and commands that can go on do so when they are run again. */
void lost_pages_catch(void);

/* For work that has something to save first. Between the two, in this thread, such a page reads as
 * zeros, and the second call returns the error; so does every later one of any thread, since the
 * zeros stay in place. Not nested. */
void lost_pages_begin(void);
Error *lost_pages_end(void);
#endif
