//===- arguments.h - What the command line says -----------------------------===//
//
// The one file that knows CLI11 is arguments.cpp; everything after it works on plain values.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TOOLS_KINTSUGI_ARGUMENTS_H
#define KINTSUGI_TOOLS_KINTSUGI_ARGUMENTS_H

#include "base/json.h"
#include "base/status.h"

#include <cstdint>
#include <optional>
#include <string>

namespace kintsugi::tool {

struct Arguments {
  std::string verb;
  std::string model;    ///< A path; for `cache` the action.
  std::string output;   ///< -o, --outputs; for `bench` and `profile` the file of --json.
  std::string emit;     ///< A box, or empty.
  std::string inputs;   ///< An .npz file, or empty.
  std::string expected; ///< An .npz file, or empty.
  std::string trace;    ///< Of `profile`: a file, or empty.
  std::string html;     ///< Of `explain`: a file, or empty.
  std::string machineAction = "show"; ///< Of `doctor`.
  double seconds = 3;
  std::optional<uint64_t> maxBytes;
  bool json = false;
  bool perKernel = false; ///< compare
  bool decisions = false; ///< Each of them, not their kinds.
  bool quiet = false;
  Json options = Json::object(); ///< For KinCompilerOptions.
};

/// What to do, or what to print instead and the exit code to end with.
struct Parsed {
  Arguments arguments;
  std::optional<int> exitCode;
  std::string message;
};

Parsed parseArguments(int argc, char **argv);

} // namespace kintsugi::tool

#endif // KINTSUGI_TOOLS_KINTSUGI_ARGUMENTS_H
