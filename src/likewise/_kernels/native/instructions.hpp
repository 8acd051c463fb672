// One body of code, compiled for several instruction sets, the best chosen when first called.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
#define LIKEWISE_X86 1
#endif

// An always-inline function takes on the instruction set of the function it is inlined into.
#define LIKEWISE_INLINE inline __attribute__((always_inline))

#ifdef LIKEWISE_X86
#define LIKEWISE_DISPATCH(Result, name, parameters, arguments)                                   \
    __attribute__((target("avx512f,avx512dq,fma"))) inline Result name##_avx512 parameters {     \
        return name##_body arguments;                                                            \
    }                                                                                            \
    __attribute__((target("avx2,fma"))) inline Result name##_avx2 parameters {                   \
        return name##_body arguments;                                                            \
    }                                                                                            \
    inline Result name##_portable parameters { return name##_body arguments; }                   \
    inline Result name parameters {                                                              \
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))             \
            return name##_avx512 arguments;                                                      \
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))                     \
            return name##_avx2 arguments;                                                        \
        return name##_portable arguments;                                                        \
    }
#else
#define LIKEWISE_DISPATCH(Result, name, parameters, arguments)                                   \
    inline Result name parameters { return name##_body arguments; }
#endif
