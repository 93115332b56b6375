//===- tensor_maps.h - Tensor maps in manifests -----------------------------===//
#ifndef KINTSUGI_RUNTIME_TENSOR_MAPS_H
#define KINTSUGI_RUNTIME_TENSOR_MAPS_H

#include "abi/tensor_map.h"
#include "base/json.h"

#include <string>
#include <vector>

namespace kintsugi::runtime {

/// What a stage takes of its operands as boxes, in the code of some device.
struct StageMaps {
  std::string symbol; ///< The stage's.
  std::vector<KinTensorMap> maps;

  bool operator==(const StageMaps &other) const;
};

Json mapsJson(const StageMaps &stage);
/// Reads what mapsJson() wrote. Numbers may be any: a device checks them (see devices/cuda).
Expected<StageMaps> readStageMaps(const Json &json);

} // namespace kintsugi::runtime

#endif // KINTSUGI_RUNTIME_TENSOR_MAPS_H
