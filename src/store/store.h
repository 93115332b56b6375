//===- store.h - What was measured, kept between compiles -------------------===//
//
// An SQLite file in write-ahead mode, so that many processes may read and write it at once and one
// that is killed loses at most what it was writing. A measurement is known by what was measured (a
// structure hash), where (the machine) and what compiled it. The file may be damaged or come from
// elsewhere: that is an error that names it, never a wrong time; what a schedule's text says is for
// its reader to check.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_STORE_STORE_H
#define KINTSUGI_STORE_STORE_H

#include "base/hash.h"
#include "base/status.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace kintsugi::store {

struct Measurement {
  Hash128 structure;
  std::string schedule; ///< Of what was found to be quickest, or what was timed; empty: what is
                        ///< done untuned.
  double seconds = 0;   ///< Of one run; finite and positive.
  double defaultSeconds = 0; ///< Of what is done untuned, measured side by side, or predicted.
  int64_t tried = 0;         ///< How many others were measured.

  bool operator==(const Measurement &) const = default;
};

/// Any thread may use it.
class Store {
public:
  /// Opens the file, or makes it; the folder must exist. An input error where the file is no store
  /// of this version, a machine error where it can't be read or written.
  static Expected<Store> open(const std::string &path);

  Store(Store &&);
  Store &operator=(Store &&);
  ~Store();

  /// Adds measurements, all or none; one of what is known already takes its place. An internal
  /// error for a time that is no positive number.
  Status put(std::span<const Measurement> measurements, const std::string &machine,
             const std::string &compiler);

  /// Nothing where it was not measured.
  Expected<std::optional<Measurement>> find(Hash128 structure, const std::string &machine,
                                            const std::string &compiler) const;

  /// All of a machine and compiler. A compile reads them once, at its start, so that what others
  /// write meanwhile can't change its result halfway.
  Expected<std::map<Hash128, Measurement>> load(const std::string &machine,
                                                const std::string &compiler) const;

  /// How many measurements there are, of all machines and compilers.
  Expected<int64_t> size() const;
  Status clear();
  /// Deletes the file, whatever is in it; one that is not there is no error.
  static Status remove(const std::string &path);

private:
  struct State;
  explicit Store(std::unique_ptr<State> state);

  std::unique_ptr<State> state;
};

} // namespace kintsugi::store

#endif // KINTSUGI_STORE_STORE_H
