//===- store.h - Measured times of kernels, kept between compiles -----------===//
//
// An SQLite file in write-ahead mode, so that many processes may read and write it at once and one
// that is killed loses at most what it was writing. A time is known by what was measured (the
// structure hash of the kernel with its schedule), where (the machine's name) and what compiled it.
// The file may be damaged or come from elsewhere: that is an error that names it, never a wrong
// time.
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
  double seconds = 0; ///< Of one run; finite and positive.

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

  /// Adds times, all or none; one that is known already is replaced. An internal error for a time
  /// that is no positive number.
  Status put(std::span<const Measurement> measurements, const std::string &machine,
             const std::string &compiler);

  /// The time in seconds, or nothing where it was not measured.
  Expected<std::optional<double>> find(Hash128 structure, const std::string &machine,
                                       const std::string &compiler) const;

  /// All times of a machine and compiler. A compile reads them once, at its start, so that what
  /// others write meanwhile can't change its result halfway.
  Expected<std::map<Hash128, double>> load(const std::string &machine,
                                           const std::string &compiler) const;

  /// How many times there are, of all machines and compilers.
  Expected<int64_t> size() const;
  Status clear();

private:
  struct State;
  explicit Store(std::unique_ptr<State> state);

  std::unique_ptr<State> state;
};

} // namespace kintsugi::store

#endif // KINTSUGI_STORE_STORE_H
