// Arrays aligned to a cache line, as the vector loads of the tiles require.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace likewise {

struct AlignedFree {
    void operator()(void* p) const { std::free(p); }
};

template <typename T>
using Aligned = std::unique_ptr<T[], AlignedFree>;

template <typename T>
Aligned<T> aligned_array(int64_t n) {
    const size_t bytes = (static_cast<size_t>(n) * sizeof(T) + 63) / 64 * 64;
    void* p = std::aligned_alloc(64, std::max<size_t>(bytes, 64));
    if (p == nullptr) throw std::bad_alloc();
    return Aligned<T>(static_cast<T*>(p));
}

inline Aligned<float> aligned_floats(int64_t n) { return aligned_array<float>(n); }

}  // namespace likewise
