//===- import.h - From an ONNX file to a program -----------------------------===//
//
// The front door of this folder. Operators become primitive definitions here: this is the fission
// of Korch (Hu et al., ASPLOS 2024, section 3).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_IMPORT_H
#define KINTSUGI_IMPORT_IMPORT_H

#include "base/diagnostics.h"
#include "base/tensor.h"
#include "import/onnx_model.h"
#include "te/program.h"

#include <map>

namespace kintsugi::import {

struct ImportOptions {
  /// Open dimensions by name. One without a name is called INPUT.AXIS.
  std::map<std::string, int64_t> dims;
  /// Inputs whose value is known now; they become constants.
  std::map<std::string, std::shared_ptr<const Tensor>> bound;
  /// Initializers whose external file is missing take the values of random_weights.h.
  bool randomWeights = false;
  /// What data decide is computed, whether it is wanted or not: both branches, and all trips.
  bool computesAll = false;
};

/// Reads and imports a model. Operator sets 1 to 28 (before 6, the
/// operators that have not changed their form). Input errors name the file and the node, and
/// list every operator that is not supported at once; an option that names nothing in the model is
/// a usage error. The program passes te::Program::verify().
Expected<te::Program> importOnnx(const std::string &path, const ImportOptions &options,
                                 Diagnostics &diagnostics);

/// The same for a model in memory; `name` stands for the file in messages, and external data is
/// looked for in `folder`.
Expected<te::Program> importOnnx(const Bytes &bytes, const std::string &name,
                                 const std::string &folder, const ImportOptions &options,
                                 Diagnostics &diagnostics);

/// What a node of a model's own graph asks for.
struct NodeSurvey {
  size_t node = 0; ///< Its place among the graph's nodes.
  /// Where importOnnx() would refuse the node, what it says of it.
  std::optional<std::string> refusal;
  /// The model's inputs whose value it needs to know, where it is refused for that.
  std::vector<std::string> needs;
  double operations = 0; ///< Arithmetic of a run, as te/operations.h counts it.
  uint64_t bytes = 0;    ///< Of what it makes.
};

/// All nodes that the outputs need, in their order. What a refused node makes is an input to those
/// behind it where the model says its type and shape; who reads anything else of it is refused too,
/// and so is who reads an input of the model that can't be one. An error where the model as a whole
/// is refused.
Expected<std::vector<NodeSurvey>> surveyNodes(const Model &model, const std::string &folder,
                                              const ImportOptions &options);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_IMPORT_H
