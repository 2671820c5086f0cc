/* crypto/cpu.h - which wider instruction sets this processor and system offer (internal).
 *
 * The build targets x86-64-v3; anything beyond is asked for here at run time. The answers are taken
 * once, before main, because CPUID is slow in virtual machines. Threading: frozen. */
#ifndef CD_CRYPTO_CPU_H
#define CD_CRYPTO_CPU_H

#include "base/base.h"

/* What this CPU can do. */
typedef struct cd__cpu_features {
    bool sha;    /* SHA-NI */
    bool avx2;   /* AVX2 */
    bool avx512; /* AVX-512 F and VL, with the operating system's support */
    bool ifma;   /* AVX-512 F, VL, DQ, BW and IFMA: 52-bit multiply-add in eight ways */
    bool lags;   /* simple operations on vectors take two cycles (Zen 5): one chain of them goes faster word by word */
} cd__cpu_features;

/* The features of the machine that this runs on; set before main. */
extern cd__cpu_features cd__cpu;

#endif
