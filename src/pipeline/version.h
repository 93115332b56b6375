//===- version.h - The compiler's version -----------------------------------===//
#ifndef KINTSUGI_PIPELINE_VERSION_H
#define KINTSUGI_PIPELINE_VERSION_H

#include <string>

namespace kintsugi::pipeline {

/// The version that caches and artifacts carry: another compiler, another key.
std::string compilerVersion();

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_VERSION_H
