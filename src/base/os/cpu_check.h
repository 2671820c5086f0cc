/* base/os/cpu_check.h - whether this processor has what the build uses (x86-64-v3).
 *
 * A program that links the object (every one made by cd_program does) asks before main and ends with one sentence where
 * something is missing, instead of with an illegal instruction later. The file is built for any x86-64. Threading:
 * pure. */
#ifndef CD_BASE_CPU_CHECK_H
#define CD_BASE_CPU_CHECK_H

#include "base/base.h"

/* What CPUID and the system say: registers of leaves 1, 7 and 0x80000001, and the state that the system saves. */
typedef struct cd_cpu_words {
    u32 ecx_1;
    u32 ebx_7;
    u32 ecx_ext;
    u32 xcr0; /* register XCR0: the state that the system saves; 0 when it cannot be read */
} cd_cpu_words;

/* cd_cpu_missing names the first feature of x86-64-v3 that is not there, or gives NULL. */
const char *cd_cpu_missing(const cd_cpu_words *w);

/* cd_cpu_ask fills w for this machine. */
void cd_cpu_ask(cd_cpu_words *w);

#endif
