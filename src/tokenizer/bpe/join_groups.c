/* join_groups.c - puts bytes that tokens treat alike into eight groups, so that a byte of a mask
 * tells what can be joined, and cuts text by them. */
#include "base/cpu.h"
#include "tokenizer/bpe/joins.h"
#include <math.h>
#include <string.h>

/* A group's bit stands for all of its bytes, so a group joins whatever one of them does: each
 * further join makes fewer cuts. Bytes from N_ASCII on are one group from the start. */
enum { N_GROUPS = 8, N_ASCII = 128, N_CLASSES = N_ASCII + 1 };

typedef struct Grouping {
    bool joined[N_CLASSES][N_CLASSES]; /* by group of the right byte, and left byte */
    double weight[N_CLASSES];          /* how often, about, bytes of this group are met */
    int group_of[N_CLASSES];
} Grouping;

static double usual_weight(int byte)
{
    if (byte == ' ') return 16;
    if (byte >= 'a' && byte <= 'z') return 4;
    if ((byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9')) return 1;
    return byte < ' ' && byte != '\n' ? 0.01 : 0.5;
}

static int class_of(int byte)
{
    return byte < N_ASCII ? byte : N_ASCII;
}

static void start(const JoinTable *j, Grouping *g)
{
    for (int left = 0; left < 256; left++) {
        for (int right = 0; right < 256; right++)
            g->joined[class_of(right)][class_of(left)] |=
                joins_can(j, (uint8_t)left, (uint8_t)right);
    }
    for (int i = 0; i < N_CLASSES; i++) {
        g->weight[i] = usual_weight(i);
        g->group_of[i] = i;
    }
}

/* The weight of the joins that putting two groups together adds. */
static double cost(const Grouping *g, int a, int b)
{
    double sum = 0;
    for (int left = 0; left < N_CLASSES; left++) {
        double added = g->joined[a][left] == g->joined[b][left] ? 0
                       : g->joined[a][left]                     ? g->weight[b]
                                                                : g->weight[a];
        sum += usual_weight(left) * added;
    }
    return sum;
}

static void put_together(Grouping *g, int a, int b)
{
    for (int left = 0; left < N_CLASSES; left++) g->joined[a][left] |= g->joined[b][left];
    g->weight[a] += g->weight[b];
    for (int i = 0; i < N_CLASSES; i++) {
        if (g->group_of[i] == b) g->group_of[i] = a;
    }
}

/* Bytes that are alike are one group from here on; lists the groups and returns their number. */
static int list_different(Grouping *g, int *list)
{
    int n = 0;
    for (int i = 0; i < N_CLASSES; i++) {
        int same = 0;
        while (same < n && memcmp(g->joined[list[same]], g->joined[i], sizeof *g->joined)) same++;
        if (same < n)
            put_together(g, list[same], i);
        else
            list[n++] = i;
    }
    return n;
}

/* Puts the two together that cost least, until there are few enough. */
static void make_fewer(Grouping *g)
{
    int list[N_CLASSES], n = list_different(g, list), changed = -1;
    double price[N_CLASSES][N_CLASSES];
    while (n > N_GROUPS) {
        double least = INFINITY;
        int a = 0, b = 1;
        for (int i = 0; i < n; i++) {
            for (int k = i + 1; k < n; k++) {
                int one = list[i], two = list[k];
                if (changed < 0 || one == changed || two == changed)
                    price[one][two] = price[two][one] = cost(g, one, two);
                if (price[one][two] >= least) continue;
                least = price[one][two];
                a = i;
                b = k;
            }
        }
        changed = list[a];
        put_together(g, changed, list[b]);
        list[b] = list[--n];
    }
}

static JoinsCut *choose(void)
{
#if defined(__x86_64__)
    CpuLevel level = cpu_level_in_use();
    if (level >= CPU_AVX512 && __builtin_cpu_supports("avx512vbmi2"))
        return joins_cut_groups_avx512;
    if (level >= CPU_AVX2) return joins_cut_groups_avx2;
#endif
    return joins_cut_groups;
}

void joins_group(JoinTable *j)
{
    Grouping g = { 0 };
    start(j, &g);
    make_fewer(&g);
    int bit_of[N_CLASSES], n = 0;
    for (int i = 0; i < N_CLASSES; i++) bit_of[i] = g.group_of[i] == i ? 1 << n++ : 0;
    for (int byte = 0; byte < 256; byte++) {
        int class = class_of(byte);
        j->group[byte] = (uint8_t)bit_of[g.group_of[class]];
        j->joined_to[byte] = 0;
        for (int i = 0; i < N_CLASSES; i++)
            j->joined_to[byte] |= (uint8_t)(g.joined[i][class] ? bit_of[i] : 0);
    }
    j->cut_groups = choose();
}

int64_t joins_cut_groups(const JoinTable *j, const char *text, uint32_t len, uint32_t from,
                         uint32_t until, uint32_t *end)
{
    const uint8_t *byte = (const uint8_t *)text;
    int64_t n = 0;
    for (uint32_t i = from + 1; i < len; i++) {
        end[n] = i;
        n += !(j->joined_to[byte[i - 1]] & j->group[byte[i]]);
        if (i >= until && n && end[n - 1] == i) return n;
    }
    end[n++] = len;
    return n;
}
