//===- reducer.h - The running value of a reduction -------------------------===//
//
// What each combiner means, for the interpreter: arg forms and softmax statistics included.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_REDUCER_H
#define KINTSUGI_TE_REDUCER_H

#include "te/body.h"

namespace kintsugi::te {

/// Folds the bodies' values, point after point, as the combiner says. Sums of floats are in double
/// and in the order of the points.
class Reducer {
public:
  Reducer(const Reduction &reduction, Body &body) : reduction(reduction), body(body) {}

  /// Before the first point: the combiner's neutral element (of arg forms: payload 0).
  void start();
  /// Takes in the body at its current point.
  void step();
  /// Writes to the results, converted to their types.
  void finish(std::vector<ExactTensor> &results, int64_t place) const;

private:
  /// A number in one of te/scalar.h's two forms.
  struct Number {
    double real = 0;
    int64_t integer = 0;
  };

  Number bodyValue(unsigned number) const;
  static Number converted(Number value, ElementType from, ElementType to);
  static void store(Number value, ElementType from, ExactTensor &result, int64_t place);
  bool beats(const Number &key) const;
  void addToStats(double x);

  const Reduction &reduction;
  Body &body;
  bool isFirst = true;
  Number accumulated, payload;
};

} // namespace kintsugi::te

#endif // KINTSUGI_TE_REDUCER_H
