// One body of code compiled for several instruction sets; the best is chosen at run time.
#pragma once

#include <string>

#if defined(__x86_64__) && defined(__GNUC__)
#define LIKEWISE_X86 1
#if !defined(__clang__) || __clang_major__ >= 12
#define LIKEWISE_BFLOAT16 1  // the compiler knows AVX-512's instructions for bfloat16
#endif
#endif

// An always-inline function takes on the instruction set of the function it is inlined into.
#define LIKEWISE_INLINE inline __attribute__((always_inline))
#define LIKEWISE_LAMBDA __attribute__((always_inline))

// Unrolls the loop that follows; Clang has another name for it than GCC.
#define LIKEWISE_PRAGMA(words) _Pragma(#words)
#ifdef __clang__
#define LIKEWISE_UNROLL(times) LIKEWISE_PRAGMA(unroll times)
#else
#define LIKEWISE_UNROLL(times) LIKEWISE_PRAGMA(GCC unroll times)
#endif

namespace likewise {

enum class Instructions { portable, avx2, avx512 };

inline Instructions best_instructions() {
#ifdef LIKEWISE_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return Instructions::avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Instructions::avx2;
#endif
    return Instructions::portable;
}

// The set that dispatched functions use; tests choose each in turn.
inline Instructions chosen_instructions = best_instructions();

// Chooses the set of this name if the machine has it, else the best; returns whether it has.
inline bool choose_instructions(const std::string& name) {
    const Instructions best = best_instructions();
    const Instructions requested = name == "portable" ? Instructions::portable
                              : name == "avx2"   ? Instructions::avx2
                                                 : Instructions::avx512;
    chosen_instructions = requested <= best ? requested : best;
    return requested <= best;
}

}  // namespace likewise

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
        if (chosen_instructions == Instructions::avx512) return name##_avx512 arguments;         \
        if (chosen_instructions == Instructions::avx2) return name##_avx2 arguments;             \
        return name##_portable arguments;                                                        \
    }
#else
#define LIKEWISE_DISPATCH(Result, name, parameters, arguments)                                   \
    inline Result name parameters { return name##_body arguments; }
#endif
