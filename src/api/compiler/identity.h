//===- identity.h - Which compiler this is --------------------------------------===//
//
// What was made by one build of the compiler is not what another would make: results that are kept
// name it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_IDENTITY_H
#define KINTSUGI_API_COMPILER_IDENTITY_H

#include <string>

namespace kintsugi::api {

/// The version and the program that compiles, as it is on the disk: another build,
/// another identity.
std::string compilerIdentity();

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_IDENTITY_H
