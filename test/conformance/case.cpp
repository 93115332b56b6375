#include "case.h"

#include "base/files.h"
#include "base/json.h"
#include "import/onnx_reader.h"

namespace kintsugi::conformance {

namespace {

Expected<std::vector<std::string>> stringsOf(const Json &object, const char *key) {
  KINTSUGI_ASSIGN(const Json *list, jsonArray(object, key));
  std::vector<std::string> strings;
  for (const Json &item : *list) {
    if (!item.is_string())
      return inputError(std::string("'") + key + "' must list strings");
    strings.push_back(item.get<std::string>());
  }
  return strings;
}

Expected<Case> parseCase(const Json &object, const std::string &directory) {
  Case result;
  KINTSUGI_ASSIGN(result.name, jsonString(object, "name"));
  result.folder = directory + "/" + result.name;
  KINTSUGI_ASSIGN(result.inputs, stringsOf(object, "inputs"));
  KINTSUGI_ASSIGN(result.outputs, stringsOf(object, "outputs"));
  KINTSUGI_ASSIGN(std::vector<std::string> bound, stringsOf(object, "bind"));
  result.bound = {bound.begin(), bound.end()};
  KINTSUGI_ASSIGN(const Json *dims, jsonObject(object, "dims"));
  for (const auto &item : dims->items()) {
    KINTSUGI_ASSIGN(int64_t size, jsonInteger(*dims, item.key()));
    result.dims[item.key()] = size;
  }
  KINTSUGI_ASSIGN(result.rtol, jsonNumber(object, "rtol"));
  KINTSUGI_ASSIGN(result.atol, jsonNumber(object, "atol"));
  KINTSUGI_ASSIGN(result.sets, jsonInteger(object, "sets"));
  KINTSUGI_ASSIGN(result.unsupported, jsonString(object, "unsupported"));
  return result;
}

Expected<Tensor> loadTensor(const std::string &path) {
  KINTSUGI_ASSIGN(MappedFile mapped, MappedFile::open(path));
  auto file = std::make_shared<MappedFile>(std::move(mapped));
  KINTSUGI_ASSIGN(import::TensorData data, import::readOnnxTensor({file, file->bytes()}));
  if (data.type == ElementType::Str)
    return Tensor::fromStrings(data.dims, data.strings);
  return Tensor::copyOf({data.type, data.dims, data.bytes.view});
}

} // namespace

Expected<std::vector<Case>> loadCases(const std::string &directory) {
  const std::string path = directory + "/cases.json";
  KINTSUGI_ASSIGN(std::string text, readTextFile(path));
  auto list = parseJson(text);
  if (!list.ok())
    return at(path, list.takeError());
  if (!list->is_array())
    return inputError(path + ": must be a list of cases");
  std::vector<Case> cases;
  for (const Json &entry : *list) {
    auto parsed = parseCase(entry, directory);
    if (!parsed.ok())
      return at(path + ": case " + std::to_string(cases.size()), parsed.takeError());
    cases.push_back(std::move(*parsed));
  }
  return cases;
}

Expected<std::map<std::string, Tensor>> loadTensors(const Case &which, int64_t set,
                                                    const std::string &role) {
  const std::vector<std::string> &names = role == "input" ? which.inputs : which.outputs;
  std::map<std::string, Tensor> tensors;
  for (size_t number = 0; number < names.size(); ++number) {
    std::string path = which.folder + "/" + std::to_string(set) + "/" + role + "_" +
                       std::to_string(number) + ".pb";
    auto tensor = loadTensor(path);
    if (!tensor.ok())
      return at(path, tensor.takeError());
    tensors.insert_or_assign(names[number], std::move(*tensor));
  }
  return tensors;
}

} // namespace kintsugi::conformance
