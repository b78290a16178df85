// The SIMD targets that simulations are compiled for: those with fused multiply-add, and the plain
// one for processors without it. Targets that are no faster than a neighbour for this code would
// only cost compile time, and sizeless vectors (SVE, RVV) cannot be members of a struct. Include it
// before anything of Highway's.

#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

// Without optimisation the code that GCC 12 makes of the wider targets crashes where a function
// that is not inlined takes a vector: then there is only the target of the whole file.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__OPTIMIZE__) && \
    !defined(HWY_COMPILE_ONLY_STATIC)
#define HWY_COMPILE_ONLY_STATIC
#endif
