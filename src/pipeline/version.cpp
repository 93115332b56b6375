#include "pipeline/version.h"

namespace kintsugi::pipeline {

std::string compilerVersion() { return KINTSUGI_VERSION; }

} // namespace kintsugi::pipeline
