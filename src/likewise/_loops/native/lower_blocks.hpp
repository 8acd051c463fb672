// A symmetric matrix of which half is kept, for quadratic forms and rank-one updates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "instructions.hpp"
#include "lanes.hpp"

namespace likewise {

// The lower triangle of a symmetric matrix in blocks of kLanes columns: row i holds its columns up
// to the end of the diagonal block of i. That halves the work and needs no masks.
class LowerBlocks {
  public:
    LowerBlocks(const double* M, int64_t d)
        : d_(d), width_((d + kLanes - 1) / kLanes * kLanes), values_(width_ * width_, 0.0) {
        for (int64_t i = 0; i < d; ++i)
            for (int64_t j = 0; j < std::min(d, end_of(i)); ++j)
                values_[i * width_ + j] = M[i * d + j];
    }

    int64_t width() const { return width_; }

    void write(double* M) const {
        for (int64_t i = 0; i < d_; ++i)
            for (int64_t j = 0; j <= i; ++j)
                M[i * d_ + j] = M[j * d_ + i] = values_[i * width_ + j];
    }

    // v'Mv of a padded v: twice the blocks left of the diagonal plus the diagonal blocks.
    LIKEWISE_INLINE double quadratic(const double* v) const {
        Doubles left{}, diagonal{};
        for (int64_t i = 0; i < width_; i += 4) {
            const double* row = values_.data() + i * width_;
            const int64_t end = i / kLanes * kLanes;
            Doubles r0{}, r1{}, r2{}, r3{};
            for (int64_t j = 0; j < end; j += kLanes) {
                const Doubles x = lanes(v + j);
                r0 += lanes(row + j) * x;
                r1 += lanes(row + width_ + j) * x;
                r2 += lanes(row + 2 * width_ + j) * x;
                r3 += lanes(row + 3 * width_ + j) * x;
            }
            left += (v[i] * r0 + v[i + 1] * r1) + (v[i + 2] * r2 + v[i + 3] * r3);
            const Doubles x = lanes(v + end);
            diagonal += ((v[i] * lanes(row + end) + v[i + 1] * lanes(row + width_ + end)) +
                         (v[i + 2] * lanes(row + 2 * width_ + end) +
                          v[i + 3] * lanes(row + 3 * width_ + end))) * x;
        }
        return 2 * sum(left) + sum(diagonal);
    }

    // M += weight v v'.
    LIKEWISE_INLINE void add_outer(double weight, const double* v) {
        for (int64_t i = 0; i < width_; i += 4) {
            double* row = values_.data() + i * width_;
            const double c0 = weight * v[i], c1 = weight * v[i + 1];
            const double c2 = weight * v[i + 2], c3 = weight * v[i + 3];
            for (int64_t j = 0; j < end_of(i); j += kLanes) {
                const Doubles x = lanes(v + j);
                lanes(row + j) += c0 * x;
                lanes(row + width_ + j) += c1 * x;
                lanes(row + 2 * width_ + j) += c2 * x;
                lanes(row + 3 * width_ + j) += c3 * x;
            }
        }
    }

  private:
    static int64_t end_of(int64_t i) { return (i / kLanes + 1) * kLanes; }

    int64_t d_, width_;
    std::vector<double> values_;
};

}  // namespace likewise
