//===- status.h - Results of work that a user can make fail ---------------===//
//
// Every failure that a model, a feed, a file, a flag or the machine can cause travels as a Status
// or an Expected<T>; our own mistakes are assertions. A message is one line a user can act on:
// where (file, node), why, what to do. The kind decides the process's exit code
// (docs/command-line.md).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_STATUS_H
#define KINTSUGI_BASE_STATUS_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace kintsugi {

/// Who has to act on a failure. The values are the exit codes of the command line.
enum class ErrorKind {
  Comparison = 1, ///< Results differ by more than the policy allows.
  Usage = 2,      ///< A flag or an argument is wrong.
  Input = 3,      ///< The model, the artifact or a feed is wrong or unsupported.
  Internal = 4,   ///< Our own fault.
  Machine = 5,    ///< Disk, memory or device.
};

struct Error {
  ErrorKind kind = ErrorKind::Internal;
  std::string message;
};

/// Success or an Error. Must be looked at.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failure(std::move(error)) {}

  static Status success() { return {}; }
  bool ok() const { return !failure; }
  explicit operator bool() const = delete; // Say ok(): "true means what?" is never a question here.
  const Error &error() const { return *failure; }
  Error takeError() { return std::move(*failure); }

private:
  std::optional<Error> failure;
};

/// A value or an Error. Must be looked at.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state.index() == 0; }
  const Error &error() const { return std::get<1>(state); }
  Error takeError() { return std::move(std::get<1>(state)); }
  T &operator*() { return *std::get_if<0>(&state); }
  const T &operator*() const { return *std::get_if<0>(&state); }
  T *operator->() { return std::get_if<0>(&state); }
  const T *operator->() const { return std::get_if<0>(&state); }
  Status status() const { return ok() ? Status() : Status(error()); }

private:
  std::variant<T, Error> state;
};

inline Error usageError(std::string message) { return {ErrorKind::Usage, std::move(message)}; }
inline Error inputError(std::string message) { return {ErrorKind::Input, std::move(message)}; }
inline Error internalError(std::string message) {
  return {ErrorKind::Internal, std::move(message)};
}
inline Error machineError(std::string message) { return {ErrorKind::Machine, std::move(message)}; }

/// Prepends where something happened: "model.onnx: " + message.
inline Error at(const std::string &where, Error error) {
  error.message = where + ": " + error.message;
  return error;
}

} // namespace kintsugi

#define KINTSUGI_CONCAT_(a, b) a##b
#define KINTSUGI_CONCAT(a, b) KINTSUGI_CONCAT_(a, b)

/// Returns the error of a Status or an Expected to the caller.
#define KINTSUGI_RETURN_IF_ERROR(expression)                                                       \
  do {                                                                                             \
    if (auto status_ = (expression); !status_.ok())                                                \
      return status_.takeError();                                                                  \
  } while (false)

/// KINTSUGI_ASSIGN(auto value, compute()): declares `value`, or returns the error to the caller.
#define KINTSUGI_ASSIGN(declaration, expression)                                                   \
  auto KINTSUGI_CONCAT(expected_, __LINE__) = (expression);                                        \
  if (!KINTSUGI_CONCAT(expected_, __LINE__).ok())                                                  \
    return KINTSUGI_CONCAT(expected_, __LINE__).takeError();                                       \
  declaration = std::move(*KINTSUGI_CONCAT(expected_, __LINE__))

#endif // KINTSUGI_BASE_STATUS_H
