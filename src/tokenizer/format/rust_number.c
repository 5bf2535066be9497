/* rust_number.c - repeats the two roundings of serde_json. */
#include "tokenizer/format/rust_number.h"
#include "base/str.h"
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* 10^n, correctly rounded; n of 0 to 308. */
static double power_of_ten(int n)
{
    char text[16];
    snprintf(text, sizeof text, "1e%d", n);
    return strtod(text, NULL);
}

double rust_number(double nearest)
{
    enum { LARGEST_POWER = 308 };
    if (!isfinite(nearest)) return nearest;
    char text[40];
    format_double(fabs(nearest), text);
    uint64_t digits = 0; /* at most 17 of them */
    int exponent = 0;
    bool is_fraction = false;
    const char *p = text;
    for (; isdigit((unsigned char)*p) || *p == '.'; p++) {
        if (*p == '.') {
            is_fraction = true;
            continue;
        }
        digits = digits * 10 + (uint64_t)(*p - '0');
        exponent -= is_fraction;
    }
    if (*p == 'e') exponent += (int)strtol(p + 1, NULL, 10);
    double x = (double)digits;
    for (; exponent < -LARGEST_POWER; exponent += LARGEST_POWER) x /= power_of_ten(LARGEST_POWER);
    x = exponent < 0 ? x / power_of_ten(-exponent) : x * power_of_ten(exponent);
    return copysign(x, nearest);
}
