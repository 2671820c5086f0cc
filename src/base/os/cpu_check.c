#include "base/os/cpu_check.h"

#include <cpuid.h>
#include <unistd.h>

/* The CPUID leaf that tells of a feature. */
enum { LEAF_1, LEAF_7, LEAF_EXT };

static const struct {
    const char *name;
    u8 leaf;
    u8 bit;
} features[] = {
    {"SSE3", LEAF_1, 0},    {"SSSE3", LEAF_1, 9},  {"FMA", LEAF_1, 12},    {"SSE4.1", LEAF_1, 19},
    {"SSE4.2", LEAF_1, 20}, {"MOVBE", LEAF_1, 22}, {"POPCNT", LEAF_1, 23}, {"AVX", LEAF_1, 28},
    {"F16C", LEAF_1, 29},   {"BMI1", LEAF_7, 3},   {"AVX2", LEAF_7, 5},    {"BMI2", LEAF_7, 8},
    {"LZCNT", LEAF_EXT, 5},
};

/* Bit 27 of leaf 1: XCR0 can be read. SAVES_YMM: bits of XCR0 that say the system saves both halves of the wide
 * registers when threads change. */
enum { OSXSAVE_BIT = 27, SAVES_YMM = 6 };

const char *cd_cpu_missing(const cd_cpu_words *w)
{
    for (usize i = 0; i < CD_COUNT(features); i++) {
        u32 word = features[i].leaf == LEAF_1 ? w->ecx_1 : features[i].leaf == LEAF_7 ? w->ebx_7 : w->ecx_ext;
        if ((word >> features[i].bit & 1) == 0) {
            return features[i].name;
        }
    }
    return (w->xcr0 & SAVES_YMM) == SAVES_YMM ? NULL : "AVX state saved by the system";
}

void cd_cpu_ask(cd_cpu_words *w)
{
    u32 eax = 0;
    u32 ebx = 0;
    u32 edx = 0;
    u32 high;
    *w = (cd_cpu_words){0};
    (void)__get_cpuid(1, &eax, &ebx, &w->ecx_1, &edx);
    u32 ecx = 0;
    (void)__get_cpuid_count(7, 0, &eax, &w->ebx_7, &ecx, &edx);
    (void)__get_cpuid(0x80000001, &eax, &ebx, &w->ecx_ext, &edx);
    if ((w->ecx_1 >> OSXSAVE_BIT & 1) != 0) {
        __asm__ volatile("xgetbv" : "=a"(w->xcr0), "=d"(high) : "c"(0));
        (void)high;
    }
}

static usize length_of(const char *s)
{
    usize n = 0;
    while (s[n] != '\0') {
        n++;
    }
    return n;
}

static void say(const char *text)
{
    (void)!write(STDERR_FILENO, text, length_of(text));
}

/* Runs before every other constructor, for those are built for the full instruction set. */
__attribute__((constructor(101))) static void check(void)
{
    cd_cpu_words w;
    cd_cpu_ask(&w);
    const char *missing = cd_cpu_missing(&w);
    if (missing != NULL) {
        say("This build needs a processor with AVX2, BMI2 and FMA (x86-64-v3); this one lacks ");
        say(missing);
        say(".\nBuild for it with -DCD_MARCH=x86-64, or run it on another machine.\n");
        _exit(1);
    }
}
