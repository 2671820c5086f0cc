#include "crypto/cpu.h"

cd__cpu_features cd__cpu;

#if defined(__x86_64__)
#include <cpuid.h>

#define SHA_BIT (1u << 29) /* CPUID leaf 7, EBX */

/* The family and its extension [AMD64 Architecture Programmer's Manual 3, CPUID function 1]. */
static u32 family(void)
{
    u32 eax = 0;
    u32 ebx;
    u32 ecx;
    u32 edx;
    (void)__get_cpuid(1, &eax, &ebx, &ecx, &edx);
    u32 base = eax >> 8 & 15;
    return base == 15 ? base + (eax >> 20 & 255) : base;
}

enum { ZEN_5 = 26 };

__attribute__((constructor)) static void ask(void)
{
    u32 eax;
    u32 ebx = 0;
    u32 ecx;
    u32 edx;
    __builtin_cpu_init();
    cd__cpu.sha = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & SHA_BIT) != 0;
    cd__cpu.avx2 = __builtin_cpu_supports("avx2");
    cd__cpu.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
    cd__cpu.ifma = cd__cpu.avx512 && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512ifma");
    cd__cpu.lags = __builtin_cpu_is("amd") && family() == ZEN_5;
}
#endif
