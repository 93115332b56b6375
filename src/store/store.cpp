#include "store/store.h"

#include "store/database.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>
#include <unistd.h>

namespace kintsugi::store {

namespace {

constexpr std::chrono::seconds wait(10);
constexpr int64_t applicationId = 0x4b696e54; // "KinT"
constexpr int64_t version = 1;
constexpr const char *schema = "CREATE TABLE measurements(structure BLOB NOT NULL, "
                               "machine TEXT NOT NULL, compiler TEXT NOT NULL, "
                               "schedule TEXT NOT NULL, seconds REAL NOT NULL, "
                               "default_seconds REAL NOT NULL, tried INTEGER NOT NULL, "
                               "PRIMARY KEY(machine, compiler, structure)) STRICT, WITHOUT ROWID";

/// High word first, so that the order of rows is that of the hashes.
std::array<std::byte, 16> bytesOf(Hash128 hash) {
  std::array<std::byte, 16> bytes;
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::byte>(hash.high >> (56 - 8 * i));
    bytes[8 + i] = static_cast<std::byte>(hash.low >> (56 - 8 * i));
  }
  return bytes;
}

std::optional<Hash128> hashOf(std::span<const std::byte> bytes) {
  if (bytes.size() != 16)
    return std::nullopt;
  Hash128 hash;
  for (int i = 0; i < 8; ++i) {
    hash.high = hash.high << 8 | static_cast<uint64_t>(bytes[i]);
    hash.low = hash.low << 8 | static_cast<uint64_t>(bytes[8 + i]);
  }
  return hash;
}

/// Of what a program of ours could have measured, with room for sums and quotients of many.
bool plausible(double seconds) { return seconds >= 1e-12 && seconds <= 1e6; }

constexpr const char *fields = "structure, schedule, seconds, default_seconds, tried";

/// A row of `fields`; nullopt for one that this program does not write.
std::optional<Measurement> measurementOf(const Statement &row) {
  constexpr size_t longestSchedule = 4096;
  auto hash = hashOf(row.bytes(0));
  Measurement found{hash.value_or(Hash128()), std::string(row.text(1)), row.real(2), row.real(3),
                    row.integer(4)};
  if (!hash || found.schedule.size() > longestSchedule || !plausible(found.seconds) ||
      !plausible(found.defaultSeconds) || found.tried < 0)
    return std::nullopt;
  return found;
}

Error foreign(const std::string &path, const std::string &reason) {
  return inputError(path + ": " + reason + "; delete it to start a new one");
}

Status create(const Database &database) {
  KINTSUGI_RETURN_IF_ERROR(database.run(schema));
  KINTSUGI_RETURN_IF_ERROR(
      database.run("PRAGMA application_id = " + std::to_string(applicationId)));
  return database.run("PRAGMA user_version = " + std::to_string(version));
}

/// The table is compared to the letter: no view, trigger or other column can hide in the file.
Status checkSchema(const Database &database, const std::string &path) {
  KINTSUGI_ASSIGN(int64_t found, database.integer("PRAGMA user_version"));
  if (found != version)
    return foreign(path, "a measurement store of version " + std::to_string(found) +
                             ", this program writes version " + std::to_string(version));
  KINTSUGI_ASSIGN(Statement statement, database.prepare("SELECT sql FROM sqlite_schema"));
  KINTSUGI_ASSIGN(bool any, statement.step());
  bool ours = any && statement.text(0) == schema;
  KINTSUGI_ASSIGN(bool more, statement.step());
  return ours && !more ? Status() : foreign(path, "not a measurement store, or a damaged one");
}

/// Makes the table in a file that is empty, and else checks that it is the one. Several processes
/// may do so at once: the write lock decides who makes it.
Status prepareFile(const Database &database, const std::string &path) {
  return database.transaction([&]() -> Status {
    KINTSUGI_ASSIGN(int64_t id, database.integer("PRAGMA application_id"));
    KINTSUGI_ASSIGN(int64_t objects, database.integer("SELECT count(*) FROM sqlite_schema"));
    if (id == 0 && objects == 0)
      return create(database);
    if (id != applicationId)
      return foreign(path, "the database of another program");
    return checkSchema(database, path);
  });
}

} // namespace

struct Store::State {
  std::string path;
  Database database;
  std::mutex mutex;

  Error damaged() const { return foreign(path, "the measurement store is damaged"); }
};

Store::Store(std::unique_ptr<State> state) : state(std::move(state)) {}
Store::Store(Store &&) = default;
Store &Store::operator=(Store &&) = default;
Store::~Store() = default;

Expected<Store> Store::open(const std::string &path) {
  KINTSUGI_ASSIGN(Database database, Database::open(path, wait));
  // First the check, then the switch to the write-ahead log: a foreign file stays as it is.
  KINTSUGI_RETURN_IF_ERROR(prepareFile(database, path));
  KINTSUGI_RETURN_IF_ERROR(database.useWriteAheadLog());
  // After a loss of power the last times may be gone, which costs a measurement; no corruption.
  KINTSUGI_RETURN_IF_ERROR(database.run("PRAGMA synchronous = NORMAL"));
  return Store(std::unique_ptr<State>(new State{path, std::move(database), {}}));
}

Status Store::put(std::span<const Measurement> measurements, const std::string &machine,
                  const std::string &compiler) {
  for (const Measurement &measurement : measurements)
    for (double seconds : {measurement.seconds, measurement.defaultSeconds})
      if (!plausible(seconds))
        return internalError(state->path + ": a time of " + std::to_string(seconds) +
                             " seconds can't be stored");
  std::lock_guard lock(state->mutex);
  return state->database.transaction([&]() -> Status {
    KINTSUGI_ASSIGN(Statement insert,
                    state->database.prepare(
                        "INSERT OR REPLACE INTO measurements(machine, compiler, structure, "
                        "schedule, seconds, default_seconds, tried) VALUES(?, ?, ?, ?, ?, ?, ?)"));
    for (const Measurement &measurement : measurements) {
      auto key = bytesOf(measurement.structure);
      insert.bind(0, machine).bind(1, compiler).bind(2, key).bind(3, measurement.schedule);
      insert.bind(4, measurement.seconds).bind(5, measurement.defaultSeconds);
      insert.bind(6, measurement.tried);
      KINTSUGI_RETURN_IF_ERROR(insert.step());
    }
    return Status::success();
  });
}

Expected<std::optional<Measurement>> Store::find(Hash128 structure, const std::string &machine,
                                                 const std::string &compiler) const {
  std::lock_guard lock(state->mutex);
  KINTSUGI_ASSIGN(Statement select, state->database.prepare("SELECT " + std::string(fields) +
                                                            " FROM measurements WHERE machine = ? "
                                                            "AND compiler = ? AND structure = ?"));
  auto key = bytesOf(structure);
  select.bind(0, machine).bind(1, compiler).bind(2, key);
  KINTSUGI_ASSIGN(bool any, select.step());
  if (!any)
    return std::optional<Measurement>();
  std::optional<Measurement> found = measurementOf(select);
  if (!found)
    return state->damaged();
  return found;
}

Expected<std::map<Hash128, Measurement>> Store::load(const std::string &machine,
                                                     const std::string &compiler) const {
  std::lock_guard lock(state->mutex);
  KINTSUGI_ASSIGN(Statement select,
                  state->database.prepare("SELECT " + std::string(fields) +
                                          " FROM measurements WHERE machine = ? AND compiler = ?"));
  select.bind(0, machine).bind(1, compiler);
  std::map<Hash128, Measurement> all;
  while (true) {
    KINTSUGI_ASSIGN(bool any, select.step());
    if (!any)
      return all;
    std::optional<Measurement> found = measurementOf(select);
    if (!found)
      return state->damaged();
    all[found->structure] = std::move(*found);
  }
}

Expected<int64_t> Store::size() const {
  std::lock_guard lock(state->mutex);
  return state->database.integer("SELECT count(*) FROM measurements");
}

Status Store::clear() {
  std::lock_guard lock(state->mutex);
  return state->database.run("DELETE FROM measurements");
}

Status Store::remove(const std::string &path) {
  for (const char *suffix : {"", "-wal", "-shm", "-journal"})
    if (::unlink((path + suffix).c_str()) != 0 && errno != ENOENT)
      return machineError(path + suffix + ": can't be removed: " + std::strerror(errno));
  return Status::success();
}

} // namespace kintsugi::store
