/* Which instruction sets this processor has, and which one is used. */
#include <stddef.h>
#include <string.h>

#include "kernels.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

static int operating_system_saves(unsigned wanted) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    return (low & wanted) == wanted;
}

enum { YMM = 0x6, ZMM = 0xe6 }; /* registers whose content survives a change of threads */

static int has(const char *name) {
    unsigned a, b, c, d, leaf1_c, leaf7_b, leaf7_c, leaf7_1a = 0;
    if (!__get_cpuid(1, &a, &b, &leaf1_c, &d) || !(leaf1_c & bit_OSXSAVE)) return 0;
    if (!__get_cpuid_count(7, 0, &a, &leaf7_b, &leaf7_c, &d)) return 0;
    if (a >= 1) __get_cpuid_count(7, 1, &leaf7_1a, &b, &c, &d);
    const int avx2 = (leaf1_c & bit_FMA) && (leaf7_b & bit_AVX2) && operating_system_saves(YMM);
    if (!strcmp(name, "avx2")) return avx2;
    if (!strcmp(name, "avx2-vnni")) return avx2 && (leaf7_1a & (1u << 4));
    const unsigned needed = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    const int avx512 = avx2 && (leaf7_b & needed) == needed && (leaf7_c & bit_AVX512VNNI) &&
                       operating_system_saves(ZMM);
    return strcmp(name, "avx512-bf16") ? avx512 : avx512 && (leaf7_1a & (1u << 5));
}

/* What the compiler at hand could not make is left out when the core is built. */
static const sl_kernels *const ALL[] = {
#ifndef SL_WITHOUT_AVX512_BF16
    &sl_kernels_avx512_bf16,
#endif
#ifndef SL_WITHOUT_AVX512
    &sl_kernels_avx512,
#endif
#ifndef SL_WITHOUT_AVX2_VNNI
    &sl_kernels_avx2_vnni,
#endif
#ifndef SL_WITHOUT_AVX2
    &sl_kernels_avx2,
#endif
    &sl_kernels_plain,
};

#elif defined(__aarch64__)
#if defined(__linux__)
#include <sys/auxv.h>
static int has(const char *name) {
    (void)name;
    return (getauxval(AT_HWCAP) & (1ul << 20)) != 0; /* HWCAP_ASIMDDP */
}
#else
static int has(const char *name) { /* every Apple processor that runs 64 bits */
    (void)name;
    return 1;
}
#endif
static const sl_kernels *const ALL[] = {
#ifndef SL_WITHOUT_NEON
    &sl_kernels_neon,
#endif
    &sl_kernels_plain,
};

#else
static int has(const char *name) {
    (void)name;
    return 0;
}
static const sl_kernels *const ALL[] = {&sl_kernels_plain};
#endif

enum { COUNT = sizeof ALL / sizeof *ALL };

static const sl_kernels *chosen = NULL;

static int usable(const sl_kernels *kernels) {
    return kernels == &sl_kernels_plain || has(kernels->name);
}

int sl_choose(const char *name) {
    for (int i = 0; i < COUNT; i++)
        if (usable(ALL[i]) && (name == NULL || !strcmp(name, ALL[i]->name))) {
            chosen = ALL[i];
            return 0;
        }
    return -1;
}

const sl_kernels *sl_kernels_chosen(void) {
    if (chosen == NULL) sl_choose(NULL);
    return chosen;
}

const sl_training *sl_training_kernels(void) { return sl_kernels_chosen()->training; }

#ifndef SL_SOURCE_HASH
#define SL_SOURCE_HASH ""
#endif

const char *sl_source_hash(void) { return SL_SOURCE_HASH; }

const char *sl_chosen(void) { return sl_kernels_chosen()->name; }

const char *sl_supported(void) {
    static char names[128];
    size_t length = 0;
    for (int i = 0; i < COUNT; i++)
        if (usable(ALL[i])) {
            const size_t more = strlen(ALL[i]->name);
            if (length) names[length++] = ' ';
            memcpy(names + length, ALL[i]->name, more);
            length += more;
        }
    names[length] = 0;
    return names;
}
