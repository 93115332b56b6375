//===- diagnostics.h - What a library has to say, collected ---------------===//
//
// A library never prints. Errors that end the work travel as Status; everything else worth telling
// (and several errors found in one pass) is collected in a Diagnostics sink, which the command line
// prints and the C API hands out.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_DIAGNOSTICS_H
#define KINTSUGI_BASE_DIAGNOSTICS_H

#include "base/status.h"

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace kintsugi {

/// Whether a terminal or a reader takes a code point for something other than a character.
bool isControl(uint32_t codePoint);

/// Text that may hold names of a file, harmless to print: what would control a terminal, break a
/// line, turn the direction of writing or is no UTF-8 is spelled out, as in "\x1b" and "\u202e".
std::string printable(std::string_view text);

/// The same as one message of bearable length: words longer than 300 bytes (a name may have
/// megabytes) and messages longer than 4000 lack their middle.
std::string oneLine(std::string_view message);

enum class Severity : uint8_t { Note, Warning, Error };

struct Diagnostic {
  Severity severity = Severity::Note;
  std::string where; ///< A file, possibly with a line; empty where there is none.
  std::string node;  ///< The model's node; empty where there is none.
  std::string message;

  /// One line (see oneLine()): "model.onnx: warning: node 'conv1': message".
  std::string str() const;
};

/// Any thread may add to it.
class Diagnostics {
public:
  void add(Diagnostic diagnostic);
  void note(std::string where, std::string node, std::string message);
  void warning(std::string where, std::string node, std::string message);
  void error(std::string where, std::string node, std::string message);

  /// What was collected so far, in order, leaving nothing.
  std::vector<Diagnostic> take();
  std::vector<Diagnostic> list() const;
  size_t count(Severity severity) const;
  bool hasErrors() const { return count(Severity::Error) != 0; }

  /// Success where no error was collected; otherwise an input error that carries the first one and
  /// says how many more there are.
  Status status() const;

private:
  mutable std::mutex mutex;
  std::vector<Diagnostic> entries;
};

/// Told as a phase advances: its name, the step it is at (0 at the start, `steps` at its end) and
/// how many there are (0 where unknown). Returning false asks the work to stop.
using Progress = std::function<bool(std::string_view phase, uint64_t step, uint64_t steps)>;

} // namespace kintsugi

#endif // KINTSUGI_BASE_DIAGNOSTICS_H
