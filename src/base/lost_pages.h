/* lost_pages.h - what happens when a mapped file becomes shorter while it is read. */
#ifndef BASE_LOST_PAGES_H
#define BASE_LOST_PAGES_H

/* From now on, reading a mapped page that its file has no more (or its disk cannot give) ends the
 * program with an error that names the file, and exit status 1, as a kill would: what is complete
 * stays, and commands that can go on do so when they are run again. */
void lost_pages_catch(void);
#endif
