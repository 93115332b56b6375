//===- isolate.h - Each kernel's work on inputs of its own ------------------===//
//
// Cuts a program open at the values that kernels store: each is defined from inputs that stand for
// what its kernel read, so that one run of the reference on what a run of the kernels read says
// what each kernel should have stored, whatever the ones before it did.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_VERIFY_ISOLATE_H
#define KINTSUGI_VERIFY_ISOLATE_H

#include "te/program.h"

#include <set>

namespace kintsugi::verify {

/// A program, or the body of one of its scans, which stand inside one another.
struct Level {
  const te::Program *program = nullptr;
  const Level *outer = nullptr;   ///< Of a body: the level of the scan.
  const te::Scan *scan = nullptr; ///< Of a body.
  std::set<std::string> stored;   ///< The values that kernels of this level store.
};

struct Isolated {
  te::Program program;             ///< Its outputs are the stored values, by name.
  std::vector<te::ValueId> inputs; ///< For each of its inputs, the level's value to give it.
};

/// What depends on constants alone is computed, not asked for; the constants' sources are shared.
Expected<Isolated> isolate(const Level &level);

} // namespace kintsugi::verify

#endif // KINTSUGI_VERIFY_ISOLATE_H
