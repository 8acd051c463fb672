// Vectors of one register, and a body of code compiled for each size of registers.
//
// GCC passes a vector of several registers through memory where it lives through a loop: under AVX2
// sums in vectors of eight doubles are slower than without vectors.
#pragma once

#include <cstdint>

#include "instructions.hpp"

namespace likewise {

// W doubles, and as many floats.
template <int W>
struct Register;
template <>
struct Register<2> {
    using Floats = float __attribute__((vector_size(8), aligned(4)));
    using Doubles = double __attribute__((vector_size(16), aligned(8)));
};
template <>
struct Register<4> {
    using Floats = float __attribute__((vector_size(16), aligned(4)));
    using Doubles = double __attribute__((vector_size(32), aligned(8)));
};
template <>
struct Register<8> {
    using Floats = float __attribute__((vector_size(32), aligned(4)));
    using Doubles = double __attribute__((vector_size(64), aligned(8)));
};

// difference = a - b. (No vector is returned: its registers depend on the machine.)
template <int W>
LIKEWISE_INLINE void subtract(const double* a, const double* b,
                              typename Register<W>::Doubles& difference) {
    using Doubles = typename Register<W>::Doubles;
    difference = *reinterpret_cast<const Doubles*>(a) - *reinterpret_cast<const Doubles*>(b);
}
template <int W>
LIKEWISE_INLINE void subtract(const float* a, const float* b,
                              typename Register<W>::Doubles& difference) {
    using Doubles = typename Register<W>::Doubles;
    using Floats = typename Register<W>::Floats;
    difference = __builtin_convertvector(*reinterpret_cast<const Floats*>(a), Doubles) -
                 __builtin_convertvector(*reinterpret_cast<const Floats*>(b), Doubles);
}

}  // namespace likewise

// Defines `name` for a type T, which calls name_of<W> with the W of the machine.
#ifdef LIKEWISE_X86
#define LIKEWISE_DISPATCH_WIDTH(name, parameters, arguments)                                      \
    template <typename T>                                                                         \
    __attribute__((target("avx512f,avx512dq,fma"))) void name##_avx512 parameters {               \
        name##_of<8> arguments;                                                                   \
    }                                                                                             \
    template <typename T>                                                                         \
    __attribute__((target("avx2,fma"))) void name##_avx2 parameters {                             \
        name##_of<4> arguments;                                                                   \
    }                                                                                             \
    template <typename T>                                                                         \
    void name parameters {                                                                        \
        if (chosen_instructions == Instructions::avx512) return name##_avx512<T> arguments;       \
        if (chosen_instructions == Instructions::avx2) return name##_avx2<T> arguments;           \
        name##_of<2> arguments;                                                                   \
    }
#else
#define LIKEWISE_DISPATCH_WIDTH(name, parameters, arguments)                                      \
    template <typename T>                                                                         \
    void name parameters {                                                                        \
        name##_of<2> arguments;                                                                   \
    }
#endif
