//===- tensor_maps.cpp - Tensor maps in manifests -------------------------===//

#include "runtime/tensor_maps.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace kintsugi;
using namespace kintsugi::runtime;

bool StageMaps::operator==(const StageMaps &other) const {
  return symbol == other.symbol &&
         std::ranges::equal(maps, other.maps, [](const KinTensorMap &a, const KinTensorMap &b) {
           return std::memcmp(&a, &b, sizeof a) == 0; // It has no bytes between its members.
         });
}

static_assert(sizeof(KinTensorMap) == 16 + KIN_TENSOR_RANK * 24);

Json runtime::mapsJson(const StageMaps &stage) {
  Json maps = Json::array();
  for (const KinTensorMap &map : stage.maps) {
    auto list = [&](const auto &numbers) {
      return Json(std::vector<uint64_t>(numbers, numbers + map.rank));
    };
    maps.push_back({{"operand", map.operand},
                    {"start", map.start},
                    {"line_bytes", map.line_bytes},
                    {"extents", list(map.extents)},
                    {"strides", list(map.strides)},
                    {"box", list(map.box)},
                    {"steps", list(map.steps)}});
  }
  return {{"stage", stage.symbol}, {"maps", std::move(maps)}};
}

template <typename Number>
static Status readNumber(const Json &json, const char *key, Number &number) {
  KINTSUGI_ASSIGN(uint64_t value, jsonUnsigned(json, key));
  if (value > std::numeric_limits<Number>::max())
    return inputError(std::string(key) + ": is too large");
  number = static_cast<Number>(value);
  return Status::success();
}

/// As many numbers as the map has dimensions.
template <typename Number>
static Status readNumbers(const Json &json, const char *key, uint16_t &rank, Number *numbers) {
  KINTSUGI_ASSIGN(const Json *list, jsonArray(json, key));
  if (list->empty() || list->size() > KIN_TENSOR_RANK || (rank && list->size() != rank))
    return inputError(std::string(key) + ": a tensor map has as many as dimensions, at most " +
                      std::to_string(KIN_TENSOR_RANK));
  rank = static_cast<uint16_t>(list->size());
  for (const Json &value : *list) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > std::numeric_limits<Number>::max())
      return inputError(std::string(key) + ": is not a list of counts");
    *numbers++ = value.get<Number>();
  }
  return Status::success();
}

static Expected<KinTensorMap> readMap(const Json &json) {
  KinTensorMap map{};
  KINTSUGI_RETURN_IF_ERROR(readNumber(json, "operand", map.operand));
  KINTSUGI_RETURN_IF_ERROR(readNumber(json, "start", map.start));
  KINTSUGI_RETURN_IF_ERROR(readNumber(json, "line_bytes", map.line_bytes));
  KINTSUGI_RETURN_IF_ERROR(readNumbers(json, "extents", map.rank, map.extents));
  KINTSUGI_RETURN_IF_ERROR(readNumbers(json, "strides", map.rank, map.strides));
  KINTSUGI_RETURN_IF_ERROR(readNumbers(json, "box", map.rank, map.box));
  KINTSUGI_RETURN_IF_ERROR(readNumbers(json, "steps", map.rank, map.steps));
  return map;
}

Expected<StageMaps> runtime::readStageMaps(const Json &json) {
  StageMaps stage;
  KINTSUGI_ASSIGN(stage.symbol, jsonString(json, "stage"));
  KINTSUGI_ASSIGN(const Json *maps, jsonArray(json, "maps"));
  for (const Json &each : *maps) {
    KINTSUGI_ASSIGN(KinTensorMap map, readMap(each));
    stage.maps.push_back(map);
  }
  return stage;
}
