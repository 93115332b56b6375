#include "pipeline/feeds.h"

#include "import/random_weights.h"
#include "te/constant.h"

namespace kintsugi::pipeline {

Expected<std::vector<Tensor>> madeUpFeeds(const te::Program &program, std::string_view salt,
                                          float scale) {
  std::vector<Tensor> feeds;
  for (te::ValueId input : program.inputs) {
    const te::Value &value = program.value(input);
    KINTSUGI_ASSIGN(Tensor feed, import::randomFeed(value.name, value.type,
                                                    te::plainShape(value.shape), salt, scale));
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

} // namespace kintsugi::pipeline
