// Bindings only: check lengths and ranges, release the GIL, call the loops.
//
// Every array argument is .noconvert(): a silent copy would hide its cost, and what a loop
// writes into a copy is lost.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <stdexcept>
#include <string>

#include "classifier_module.hpp"
#include "hinges.hpp"
#include "batch_module.hpp"
#include "laplacian.hpp"
#include "radius.hpp"
#include "sqdist.hpp"
#include "stream_module.hpp"

NB_MAKE_OPAQUE(likewise::Found)

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <typename T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices = Vector<const int64_t>;
using Reals = Vector<const double>;

template <typename Array>
int64_t length(const Array& array) {
    return static_cast<int64_t>(array.shape(0));
}

void require(bool holds, const char* otherwise) {
    if (!holds) throw std::invalid_argument(otherwise);
}

void require_range(int64_t begin, int64_t end, int64_t n) {
    if (begin < 0 || end < begin || end > n) {
        throw nb::index_error("begin and end must be a range of the rows, but they are not.");
    }
}

void require_rows(const Indices& index, int64_t n) {
    for (int64_t p = 0; p < length(index); ++p) {
        if (index.data()[p] < 0 || index.data()[p] >= n) {
            throw nb::index_error("Row numbers must lie within the array, but some do not.");
        }
    }
}

void require_int32(int64_t n) {
    require(n <= std::numeric_limits<int32_t>::max(), "Z must have fewer than 2^31 rows.");
}

// A scan keeps the arrays that it points into alive.
template <typename T>
struct HeldScan {
    Matrix<const T> Z;
    Indices order, group;
    Reals radius2, centre;
    likewise::RadiusScan<T> scan;

    HeldScan(Matrix<const T> Z_, Indices order_, Indices group_, Reals radius2_, Reals centre_,
             double scale, int64_t limit, bool panelled, const std::string& instructions)
        : Z(checked(Z_, order_, group_, radius2_, centre_)), order(order_), group(group_),
          radius2(radius2_), centre(centre_),
          scan(Z.data(), length(Z), static_cast<int64_t>(Z.shape(1)), order.data(), group.data(),
               radius2.data(), centre.data(), scale, limit, panelled, instructions) {}

    static Matrix<const T> checked(const Matrix<const T>& Z, const Indices& order,
                                   const Indices& group, const Reals& radius2,
                                   const Reals& centre) {
        const int64_t n = length(Z);
        require(length(order) == n, "order must have one value a row of Z.");
        require(length(group) == n, "group must have one value a row of Z.");
        require(length(radius2) == n, "radius2 must have one value a row of Z.");
        require(centre.shape(0) == Z.shape(1), "centre must have one value a column of Z.");
        require_int32(n);
        require_rows(order, n);
        return Z;
    }
};

template <typename T>
void bind_scan(nb::module_& m, const char* name) {
    using Scan = HeldScan<T>;
    nb::class_<Scan>(m, name)
        .def(nb::init<Matrix<const T>, Indices, Indices, Reals, Reals, double, int64_t, bool,
                      const std::string&>(),
             nb::arg("Z").noconvert(), nb::arg("order").noconvert(), nb::arg("group").noconvert(),
             nb::arg("radius2").noconvert(), nb::arg("centre").noconvert(), "scale"_a, "limit"_a,
             "panelled"_a, "instructions"_a)
        .def_prop_ro("panels", [](const Scan& s) { return s.scan.panels(); })
        .def_prop_ro("found", [](const Scan& s) { return s.scan.found(); })
        .def("first_column_panel",
             [](const Scan& s, int64_t panel) {
                 require_range(panel, panel + 1, s.scan.panels());
                 return s.scan.first_column_panel(panel);
             },
             "panel"_a)
        .def("rows",
             [](Scan& s) {
                 return nb::ndarray<nb::numpy, float, nb::ndim<2>>(
                     s.scan.rows(), {s.Z.shape(0), s.Z.shape(1)}, nb::find(s));
             })
        .def("pack",
             [](Scan& s, int64_t begin, int64_t end) {
                 require_range(begin, end, s.scan.panels());
                 nb::gil_scoped_release unlocked;
                 s.scan.pack(begin, end);
             },
             "begin"_a, "end"_a)
        .def("scan_tiles",
             [](Scan& s, int64_t begin, int64_t end, likewise::Found& found) {
                 require_range(begin, end, s.scan.panels());
                 nb::gil_scoped_release unlocked;
                 s.scan.scan_tiles(begin, end, found);
             },
             "begin"_a, "end"_a, "found"_a)
        .def("scan_products",
             [](Scan& s, Matrix<const float> products, int64_t row, int64_t column,
                likewise::Found& found) {
                 const int64_t n = length(s.Z), n_columns = static_cast<int64_t>(products.shape(1));
                 require_range(row, row + length(products), n);
                 require_range(column, column + n_columns, n);
                 require(column % likewise::kPanel == 0, "column must begin a panel.");
                 nb::gil_scoped_release unlocked;
                 s.scan.scan_products(products.data(), row, length(products), column, n_columns,
                                      found);
             },
             nb::arg("products").noconvert(), "row"_a, "column"_a, "found"_a);
}

void gather_found(std::vector<likewise::Found*> blocks, Vector<int64_t> start,
                  Vector<int64_t> rows, Vector<int64_t> cols, Vector<double> sqdist) {
    const int64_t n = length(start) - 1;
    int64_t m = 0;
    for (const auto* block : blocks) {
        m += static_cast<int64_t>(block->size());
        for (const likewise::Pair& pair : *block) {
            if (pair.row >= n) throw nb::index_error("start must have one value a row, and one.");
        }
    }
    require(length(rows) == m && length(cols) == m && length(sqdist) == m,
            "rows, cols and sqdist must have one value a pair found.");
    nb::gil_scoped_release unlocked;
    likewise::gather_found(blocks, n, start.data(), rows.data(), cols.data(), sqdist.data());
}

void sort_found(Indices start, int64_t begin, int64_t end, Vector<int64_t> cols,
                Vector<double> sqdist) {
    require_range(begin, end, length(start) - 1);
    require(length(cols) == length(sqdist), "cols and sqdist must be as long.");
    for (int64_t i = begin; i < end; ++i) {
        require_range(start.data()[i], start.data()[i + 1], length(cols));
    }
    nb::gil_scoped_release unlocked;
    likewise::sort_found(start.data(), begin, end, cols.data(), sqdist.data());
}

likewise::Adjacency* make_adjacency(Indices rows, Indices cols, Reals weights, int64_t n) {
    require(length(rows) == length(cols), "rows and cols must be as long.");
    require(length(rows) == length(weights), "weights must have one value a pair.");
    require_int32(n);
    require_rows(rows, n);
    require_rows(cols, n);
    nb::gil_scoped_release unlocked;
    return new likewise::Adjacency(rows.data(), cols.data(), weights.data(), length(rows), n);
}

template <typename T>
void laplacian_rows(Matrix<const T> Z, const likewise::Adjacency& pairs, int64_t begin,
                    int64_t end, Matrix<T> out) {
    require_range(begin, end, length(Z));
    require(static_cast<int64_t>(pairs.start.size()) == length(Z) + 1,
            "pairs must be of the rows of Z.");
    require(out.shape(0) == Z.shape(0) && out.shape(1) == Z.shape(1), "out must have Z's shape.");
    nb::gil_scoped_release unlocked;
    likewise::laplacian_rows(Z.data(), static_cast<int64_t>(Z.shape(1)), pairs, begin, end,
                             out.data());
}

template <typename T>
void pair_sqdist(Matrix<const T> Z, Matrix<const T> points, Indices rows, Indices cols,
                 Vector<double> out) {
    require(Z.shape(1) == points.shape(1), "Z and points must have as many features.");
    require(length(rows) == length(cols), "rows and cols must be as long.");
    require(length(out) == length(rows), "out must have one value a pair.");
    require_rows(rows, length(Z));
    require_rows(cols, length(points));
    nb::gil_scoped_release unlocked;
    likewise::pair_sqdist(Z.data(), points.data(), static_cast<int64_t>(Z.shape(1)), rows.data(),
                          cols.data(), 0, length(rows), out.data());
}

// The groups' places in an array of n pairs: one more than there are groups, ascending.
void require_starts(const Indices& start, int64_t n) {
    require(length(start) > 0, "near_start and far_start must have one value a group, and one.");
    for (int64_t g = 0; g + 1 < length(start); ++g) {
        require_range(start.data()[g], start.data()[g + 1], n);
    }
}

void group_hinges(Reals near, Indices near_start, Reals far, Indices far_start, double margin,
                  double width, int64_t begin, int64_t end, Vector<double> value,
                  Vector<double> near_slope, Vector<double> far_slope) {
    require_starts(near_start, length(near));
    require_starts(far_start, length(far));
    require(length(near_start) == length(far_start), "Both starts must be of the same groups.");
    require(length(near_slope) == length(near), "near_slope must have one value a near pair.");
    require(length(far_slope) == length(far), "far_slope must have one value a far pair.");
    require(length(value) == length(near_start) - 1, "value must have one value a group.");
    require_range(begin, end, length(value));
    nb::gil_scoped_release unlocked;
    likewise::group_hinges(near.data(), near_start.data(), far.data(), far_start.data(), margin,
                           width, begin, end, value.data(), near_slope.data(), far_slope.data());
}

template <typename T>
void bind_rows(nb::module_& m) {
    m.def("laplacian_rows", &laplacian_rows<T>, nb::arg("Z").noconvert(), "pairs"_a, "begin"_a,
          "end"_a, nb::arg("out").noconvert());
    m.def("pair_sqdist", &pair_sqdist<T>, nb::arg("Z").noconvert(), nb::arg("points").noconvert(),
          nb::arg("rows").noconvert(), nb::arg("cols").noconvert(), nb::arg("out").noconvert());
}

}  // namespace

NB_MODULE(_native, m) {
    m.attr("PANEL") = likewise::kPanel;
    m.def("instruction_sets", &likewise::instruction_sets);
    nb::class_<likewise::Found>(m, "Found").def(nb::init<>());
    bind_scan<float>(m, "RadiusScanFloat32");
    bind_scan<double>(m, "RadiusScanFloat64");
    m.def("gather_found", &gather_found, "blocks"_a, nb::arg("start").noconvert(),
          nb::arg("rows").noconvert(), nb::arg("cols").noconvert(), nb::arg("sqdist").noconvert());
    m.def("sort_found", &sort_found, nb::arg("start").noconvert(), "begin"_a, "end"_a,
          nb::arg("cols").noconvert(), nb::arg("sqdist").noconvert());
    nb::class_<likewise::Adjacency>(m, "Adjacency")
        .def(nb::new_(&make_adjacency), nb::arg("rows").noconvert(), nb::arg("cols").noconvert(),
             nb::arg("weights").noconvert(), "n"_a);
    m.def("group_hinges", &group_hinges, nb::arg("near").noconvert(),
          nb::arg("near_start").noconvert(), nb::arg("far").noconvert(),
          nb::arg("far_start").noconvert(), "margin"_a, "width"_a, "begin"_a, "end"_a,
          nb::arg("value").noconvert(), nb::arg("near_slope").noconvert(),
          nb::arg("far_slope").noconvert());
    bind_rows<float>(m);
    bind_rows<double>(m);
    bind_batch(m);
    bind_stream(m);
    bind_classifiers(m);
}
