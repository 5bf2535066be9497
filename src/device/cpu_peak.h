/* cpu_peak.h - how fast the CPU multiplies and adds at most, measured. */
#ifndef DEVICE_CPU_PEAK_H
#define DEVICE_CPU_PEAK_H
#include "device/device.h"

/* FLOP/s of the calling core with this instruction set at this moment: f32, or for BF16 products of
 * pairs added in f32 where the CPU has them. A multiply-add counts 2. Takes about 5 ms of processor
 * time; time in which others ran does not count. */
double cpu_core_flops(Dtype t, CpuLevel level);
/* The same for all threads of a CPU device at once: what a perfect kernel would reach. Processors
 * that share a core count as what they give together. */
double cpu_peak_flops(Device *d, Dtype t, CpuLevel level);
/* Bytes/s, read and written, of all threads of a CPU device that copy at once what no core's own
 * cache holds. Data that lies in caches may come faster. Takes some 10 ms. */
double cpu_peak_bytes(Device *d);
#endif
