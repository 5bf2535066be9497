/* system_metrics.h - what a process takes of its machine. */
#ifndef MONITOR_SYSTEM_METRICS_H
#define MONITOR_SYSTEM_METRICS_H

/* Zero-initialise; asked again and again. */
typedef struct SystemMetrics {
    double memory_mb;   /* resident now, MiB */
    double cpu_percent; /* of one processor since the last time: 800 for eight busy ones */
    double seconds, cpu_seconds;
} SystemMetrics;

void system_metrics_take(SystemMetrics *m);
#endif
