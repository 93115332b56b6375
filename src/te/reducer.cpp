#include "te/reducer.h"

#include "te/scalar.h"

#include <cmath>

namespace kintsugi::te {

/// The operation between two elements, of combiners that are one.
static BinaryOp operationOf(Combiner combiner) {
  switch (combiner) {
  case Combiner::Sum:
    return BinaryOp::Add;
  case Combiner::Prod:
    return BinaryOp::Mul;
  case Combiner::Max:
    return BinaryOp::Max;
  case Combiner::Min:
    return BinaryOp::Min;
  case Combiner::And:
    return BinaryOp::And;
  default:
    assert(combiner == Combiner::Or);
    return BinaryOp::Or;
  }
}

void Reducer::start() {
  isFirst = true;
  ElementType type = reduction.accumulator;
  bool real = isFloat(type);
  payload = {};
  switch (reduction.combiner) {
  case Combiner::Prod:
    accumulated = {1, 1};
    return;
  case Combiner::Max:
    accumulated = {-INFINITY, real ? 0 : lowestInteger(type)};
    return;
  case Combiner::Min:
    accumulated = {INFINITY, real ? 0 : highestInteger(type)};
    return;
  case Combiner::And:
    accumulated = {0, wrapInteger(type, -1)};
    return;
  case Combiner::SoftmaxStats:
    accumulated = {-INFINITY, 0};
    return;
  default:
    accumulated = {};
  }
}

Reducer::Number Reducer::bodyValue(unsigned number) const {
  if (body.isFloatBody(number))
    return {body.floatValue(number), 0};
  return {0, body.integerValue(number)};
}

Reducer::Number Reducer::converted(Number value, ElementType from, ElementType to) {
  if (isFloat(to))
    return {isFloat(from) ? value.real : castToFloat(from, value.integer), 0};
  return {0, isFloat(from) ? castToInteger(to, value.real) : wrapInteger(to, value.integer)};
}

/// Whether a key comes before the best one so far: NaN before all numbers, the first of equals.
bool Reducer::beats(const Number &key) const {
  bool greatest = reduction.combiner == Combiner::ArgMax;
  if (isFloat(reduction.accumulator)) {
    if (std::isnan(key.real) || std::isnan(accumulated.real))
      return !std::isnan(accumulated.real);
    return greatest ? key.real > accumulated.real : key.real < accumulated.real;
  }
  int64_t lesser = greatest ? accumulated.integer : key.integer;
  int64_t greater = greatest ? key.integer : accumulated.integer;
  return applyBinary(BinaryOp::Less, reduction.accumulator, lesser, greater);
}

/// Keeps the maximum and the sum of exp(x - maximum), which is scaled when the maximum grows. While
/// all are minus infinity the sum is NaN, as the formula says; a greater one makes those terms 0.
void Reducer::addToStats(double x) {
  double &maximum = accumulated.real, &sum = payload.real;
  double grown = applyBinary(BinaryOp::Max, maximum, x);
  bool vanishes = isFirst || (maximum == -INFINITY && grown > maximum);
  double kept = vanishes ? 0 : sum * std::exp(maximum - grown);
  sum = kept + std::exp(x - grown);
  maximum = grown;
}

void Reducer::step() {
  Number value = converted(bodyValue(0), body.typeOf(0), reduction.accumulator);
  switch (reduction.combiner) {
  case Combiner::ArgMax:
  case Combiner::ArgMin:
    if (isFirst || beats(value)) {
      accumulated = value;
      payload = bodyValue(1);
    }
    break;
  case Combiner::SoftmaxStats:
    addToStats(value.real);
    break;
  default:
    BinaryOp op = operationOf(reduction.combiner);
    if (isFloat(reduction.accumulator))
      accumulated.real = applyBinary(op, accumulated.real, value.real);
    else
      accumulated.integer =
          applyBinary(op, reduction.accumulator, accumulated.integer, value.integer);
  }
  isFirst = false;
}

void Reducer::store(Number value, ElementType from, ExactTensor &result, int64_t place) {
  Number number = converted(value, from, result.type);
  if (isFloat(result.type))
    result.floats[place] = number.real;
  else
    result.integers[place] = number.integer;
}

void Reducer::finish(std::vector<ExactTensor> &results, int64_t place) const {
  if (bodiesOf(reduction.combiner) == 2) {
    store(payload, body.typeOf(1), results[0], place);
    return;
  }
  store(accumulated, reduction.accumulator, results[0], place);
  if (reduction.combiner == Combiner::SoftmaxStats)
    store(payload, reduction.accumulator, results[1], place);
}

} // namespace kintsugi::te
