//===- database.h - SQLite without its ways to fail silently ----------------===//
//
// A connection and its statements as owners, every result code as a Status. Internal to this
// folder.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_STORE_DATABASE_H
#define KINTSUGI_STORE_DATABASE_H

#include "base/status.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace kintsugi::store {

/// A prepared statement. Parameters and columns are numbered from 0.
class Statement {
public:
  Statement &bind(int parameter, std::string_view text);
  Statement &bind(int parameter, std::span<const std::byte> bytes);
  Statement &bind(int parameter, double value);
  Statement &bind(int parameter, int64_t value);

  /// Whether there is a row; the statement is at its start again after the last one.
  Expected<bool> step();
  /// Drops the rows that are left.
  void reset();

  std::string_view text(int column) const;
  std::span<const std::byte> bytes(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;

private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt *statement) const;
  };

  Statement(sqlite3_stmt *statement, std::string path) : handle(statement), path(std::move(path)) {}

  std::unique_ptr<sqlite3_stmt, Finalize> handle;
  std::string path;
};

/// A connection. Not safe to share between threads without a lock.
class Database {
public:
  /// Opens the file, or makes it. Waits up to `wait` for other writers, here and later.
  static Expected<Database> open(const std::string &path, std::chrono::milliseconds wait);

  Expected<Statement> prepare(std::string_view sql) const;
  /// Runs one statement and ignores its rows.
  Status run(std::string_view sql) const;
  /// The first column of the first row.
  Expected<int64_t> integer(std::string_view sql) const;
  /// Switches the file to SQLite's write-ahead log, under which readers and a writer do not wait
  /// for each other; stays so. Waits as `open` was told to: SQLite itself does not where two
  /// connections switch at once (a read lock is held, so that waiting could be a deadlock).
  Status useWriteAheadLog() const;
  /// Runs `work` in a transaction that holds the write lock from its start; undone on an error.
  Status transaction(const std::function<Status()> &work) const;

private:
  struct Close {
    void operator()(sqlite3 *connection) const;
  };

  Database(sqlite3 *connection, std::string path, std::chrono::milliseconds wait)
      : handle(connection), path(std::move(path)), wait(wait) {}

  std::unique_ptr<sqlite3, Close> handle;
  std::string path;
  std::chrono::milliseconds wait;
};

} // namespace kintsugi::store

#endif // KINTSUGI_STORE_DATABASE_H
