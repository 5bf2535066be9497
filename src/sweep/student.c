/* student.c - Student's t by the regularized incomplete beta function (continued fraction of Lentz;
 * Press et al., Numerical Recipes, 6.4). */
#include "sweep/student.h"
#include <math.h>

static double not_zero(double x)
{
    static const double TINY = 1e-300;
    return fabs(x) < TINY ? TINY : x;
}

static double beta_fraction(double a, double b, double x)
{
    enum { MOST = 500 };
    double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), sum = d;
    for (int m = 1; m <= MOST; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / not_zero(1 + even * d);
        c = not_zero(1 + even / c);
        sum *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / not_zero(1 + odd * d);
        c = not_zero(1 + odd / c);
        sum *= d * c;
        if (fabs(d * c - 1) < 1e-16) break;
    }
    return sum;
}

/* lgamma() writes a global; lgamma_r does not. */
static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

static double beta_part(double a, double b, double x)
{
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_below(double t, double df)
{
    if (isnan(t)) return t;
    double tail = beta_part(df / 2, 0.5, df / (df + t * t)) / 2;
    return t > 0 ? 1 - tail : tail;
}

/* Of the upper half; the tail is computed on its own, so that it stays exact far out. */
static double upper_quantile(double tail, double df)
{
    enum { HALVINGS = 200 };
    double low = 0, high = 1;
    while (beta_part(df / 2, 0.5, df / (df + high * high)) / 2 > tail) high *= 2;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = low + (high - low) / 2;
        if (beta_part(df / 2, 0.5, df / (df + middle * middle)) / 2 > tail)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double student_quantile(double part, double df)
{
    if (part == 0.5) return 0;
    return part > 0.5 ? upper_quantile(1 - part, df) : -upper_quantile(part, df);
}

Estimate estimate_mean(const double *x, int64_t n, double confidence)
{
    Estimate e = { .n = n, .mean = NAN, .std = NAN, .low = NAN, .high = NAN, .p = NAN };
    double sum = 0, squares = 0;
    if (!n) return e;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    e.mean = sum / (double)n;
    if (n < 2) return e;
    for (int64_t i = 0; i < n; i++) squares += (x[i] - e.mean) * (x[i] - e.mean);
    e.std = sqrt(squares / (double)(n - 1));
    double error = e.std / sqrt((double)n), df = (double)(n - 1);
    double reach = student_quantile(0.5 + confidence / 2, df) * error;
    e.low = e.mean - reach;
    e.high = e.mean + reach;
    e.p = error > 0 ? 2 * student_below(-fabs(e.mean / error), df) : e.mean == 0 ? 1 : 0;
    return e;
}
