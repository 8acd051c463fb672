// What the bindings of all families share: array types and checks of arguments.
//
// A binding checks lengths and ranges, releases the GIL and calls a loop. Every array argument is
// bound by `array`: without noconvert, nanobind copies an array of another type or layout silently,
// and what a loop writes into the copy is lost.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;

template <typename T, int dimensions>
using Array = nb::ndarray<T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
using Matrix = Array<double, 2>;
using Vector = Array<double, 1>;
using ConstMatrix = Array<const double, 2>;
using ConstVector = Array<const double, 1>;
using Indices = Array<const int64_t, 1>;

inline auto array(const char* name) { return nb::arg(name).noconvert(); }

template <typename A>
int64_t extent(const A& values, int axis = 0) {
    return static_cast<int64_t>(values.shape(axis));
}

template <typename A, typename B>
bool same_shape(const A& a, const B& b) {
    return a.shape(0) == b.shape(0) && a.shape(1) == b.shape(1);
}

inline void require(bool holds, const char* otherwise) {
    if (!holds) throw std::invalid_argument(otherwise);
}

// begin and end are a slice of n rows.
inline void require_slice(int64_t begin, int64_t end, int64_t n) {
    if (begin < 0 || end < begin || end > n)
        throw nb::index_error("begin and end must be a slice of the rows, but they are not.");
}

// Every index is at least 0 and below n.
inline void require_indices(const int64_t* indices, int64_t count, int64_t n,
                            const char* otherwise) {
    for (int64_t k = 0; k < count; ++k)
        if (indices[k] < 0 || indices[k] >= n) throw nb::index_error(otherwise);
}

inline void require_indices(const Indices& indices, int64_t n, const char* otherwise) {
    require_indices(indices.data(), extent(indices), n, otherwise);
}

inline void require_metric(const Matrix& M, const ConstMatrix& V) {
    require(M.shape(0) == M.shape(1) && M.shape(0) == V.shape(1),
            "M must be square with one row per feature of V.");
}
