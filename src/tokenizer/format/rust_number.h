/* rust_number.h - the number that the library reads from a decimal text. */
#ifndef TOKENIZER_FORMAT_RUST_NUMBER_H
#define TOKENIZER_FORMAT_RUST_NUMBER_H

/* serde_json, which reads tokenizer.json for the library, takes up to 19 digits as an integer and
 * divides by a power of ten, so that its result may differ from the nearest double in the last bit;
 * where two ways through a text have nearly the same score, that bit decides. `nearest` was read
 * from the shortest decimal text of its value, as all writers of these files print it. */
double rust_number(double nearest);
#endif
