//===- tuned_store.h - Where measured schedules are kept --------------------------===//
//
// One store in the folder of the cache, for all models. Without --tune it is read where it exists;
// a store that can't be read costs speed and not the compilation, and a note says so.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_TUNED_STORE_H
#define KINTSUGI_API_COMPILER_TUNED_STORE_H

#include "api/compiler/settings.h"

#include <optional>

namespace kintsugi::api {

struct TunedRecords {
  std::optional<tune::Records> records; ///< Nothing where a compilation goes without.
  std::string note;                     ///< What is wrong with the store; empty where nothing is.

  std::string level; ///< Of the machine at hand, which the records are of.

  /// Of the records; "" where there are none.
  std::string digest() const;

  /// The options use the records, which must outlive them.
  void lendTo(pipeline::CompileOptions &options);
};

/// What the settings' compilation may use, and adds to under --tune.
TunedRecords openTunedRecords(const Settings &settings);

struct TunedSummary {
  int64_t entries = 0;
  uint64_t bytes = 0;
  std::string problem; ///< Why it can't be read.
};
/// Of all machines and compilers.
Expected<TunedSummary> describeTunedStore();
Status clearTunedStore();

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_TUNED_STORE_H
