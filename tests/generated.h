/* generated.h - committed files that are made by the program: documentation, printed graphs. */
#ifndef TESTS_GENERATED_H
#define TESTS_GENERATED_H

/* The file (path from the root of the repository) holds exactly this text; if not, fails with the
 * first line that differs. With MODALITIES_GENERATE=1 writes the file instead. */
void assert_generated(const char *path, const char *text);
#endif
