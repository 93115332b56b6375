#include "store/database.h"

#include <sqlite3.h>
#include <thread>

namespace kintsugi::store {

namespace {

/// A damaged or foreign file is the input's fault, anything else the machine's (disk, permissions,
/// a lock held too long).
Error failure(sqlite3 *connection, int code, const std::string &path) {
  std::string reason = connection ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  switch (code & 0xff) {
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
  case SQLITE_FORMAT:
    return inputError(path + ": not a measurement store, or a damaged one (" + reason +
                      "); delete it to start a new one");
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return machineError(path + ": another process holds the store (" + reason + "); try again");
  default:
    return machineError(path + ": " + reason);
  }
}

} // namespace

void Statement::Finalize::operator()(sqlite3_stmt *statement) const { sqlite3_finalize(statement); }

Statement &Statement::bind(int parameter, std::string_view text) {
  sqlite3_bind_text64(handle.get(), parameter + 1, text.data(), text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

Statement &Statement::bind(int parameter, std::span<const std::byte> bytes) {
  sqlite3_bind_blob64(handle.get(), parameter + 1, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

Statement &Statement::bind(int parameter, double value) {
  sqlite3_bind_double(handle.get(), parameter + 1, value);
  return *this;
}

Statement &Statement::bind(int parameter, int64_t value) {
  sqlite3_bind_int64(handle.get(), parameter + 1, value);
  return *this;
}

Expected<bool> Statement::step() {
  int code = sqlite3_step(handle.get());
  if (code == SQLITE_ROW)
    return true;
  if (code == SQLITE_DONE) {
    reset();
    return false;
  }
  Error error = failure(sqlite3_db_handle(handle.get()), code, path);
  reset();
  return error;
}

void Statement::reset() { sqlite3_reset(handle.get()); }

std::string_view Statement::text(int column) const {
  const unsigned char *data = sqlite3_column_text(handle.get(), column);
  auto size = static_cast<size_t>(sqlite3_column_bytes(handle.get(), column));
  return data ? std::string_view(reinterpret_cast<const char *>(data), size) : std::string_view();
}

std::span<const std::byte> Statement::bytes(int column) const {
  const void *data = sqlite3_column_blob(handle.get(), column);
  auto size = static_cast<size_t>(sqlite3_column_bytes(handle.get(), column));
  return {static_cast<const std::byte *>(data), data ? size : 0};
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle.get(), column); }

double Statement::real(int column) const { return sqlite3_column_double(handle.get(), column); }

void Database::Close::operator()(sqlite3 *connection) const { sqlite3_close_v2(connection); }

Expected<Database> Database::open(const std::string &path, std::chrono::milliseconds wait) {
  sqlite3 *connection = nullptr;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  int code = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
  Database database(connection, path, wait); // A handle is made even where opening fails.
  if (code != SQLITE_OK)
    return failure(connection, code, path);
  sqlite3_busy_timeout(connection, static_cast<int>(wait.count()));
  // The file may come from anywhere: nothing in its schema may run code or reach other files.
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, 1 << 20);
  return database;
}

Expected<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt *statement = nullptr;
  int code = sqlite3_prepare_v2(handle.get(), sql.data(), static_cast<int>(sql.size()), &statement,
                                nullptr);
  if (code != SQLITE_OK)
    return failure(handle.get(), code, path);
  return Statement(statement, path);
}

Status Database::run(std::string_view sql) const {
  KINTSUGI_ASSIGN(Statement statement, prepare(sql));
  return statement.step().status();
}

Expected<int64_t> Database::integer(std::string_view sql) const {
  KINTSUGI_ASSIGN(Statement statement, prepare(sql));
  KINTSUGI_ASSIGN(bool found, statement.step());
  return found ? statement.integer(0) : 0;
}

Status Database::useWriteAheadLog() const {
  using Clock = std::chrono::steady_clock;
  constexpr auto pause = std::chrono::milliseconds(2);
  for (Clock::time_point end = Clock::now() + wait;; std::this_thread::sleep_for(pause)) {
    int code = sqlite3_exec(handle.get(), "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK)
      return {};
    if ((code & 0xff) != SQLITE_BUSY || Clock::now() >= end)
      return failure(handle.get(), code, path);
  }
}

Status Database::transaction(const std::function<Status()> &work) const {
  KINTSUGI_RETURN_IF_ERROR(run("BEGIN IMMEDIATE"));
  Status status = work();
  if (status.ok())
    status = run("COMMIT");
  if (!status.ok())
    (void)run("ROLLBACK"); // The first error is the one to tell.
  return status;
}

} // namespace kintsugi::store
