//===- case.h - One official ONNX backend case, as it lies on disk ----------===//
//
// What scripts/conformance_cases.py wrote: a model, and for each data set the tensors to feed and
// those to expect.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_CONFORMANCE_CASE_H
#define KINTSUGI_TEST_CONFORMANCE_CASE_H

#include "base/status.h"
#include "base/tensor.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace kintsugi::conformance {

struct Case {
  std::string name;
  std::string folder;
  std::vector<std::string> inputs;     ///< Names, in the order of input_0.pb, input_1.pb, ...
  std::vector<std::string> outputs;    ///< In the order of output_0.pb, ...
  std::set<std::string> bound;         ///< Inputs whose values the compiler is told.
  std::map<std::string, int64_t> dims; ///< Sizes of the open dimensions.
  double rtol = 0;
  double atol = 0;
  int64_t sets = 0;
  std::string unsupported; ///< Why it can't be run at all; empty where it can.

  std::string model() const { return folder + "/model.onnx"; }
};

/// Every case that DIRECTORY/cases.json lists, in its order.
Expected<std::vector<Case>> loadCases(const std::string &directory);

/// The tensors of a data set, by name; `role` is "input" or "output".
Expected<std::map<std::string, Tensor>> loadTensors(const Case &which, int64_t set,
                                                    const std::string &role);

} // namespace kintsugi::conformance

#endif // KINTSUGI_TEST_CONFORMANCE_CASE_H
