//===- child_process.h - Programs that work for this one --------------------===//
//
// Another program is run by its path with a list of arguments: no shell looks at them. It reads
// nothing, what it says is kept, it may take only so long, and it ends when this process does. What
// it starts in its turn is its own business.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_CHILD_PROCESS_H
#define KINTSUGI_BASE_CHILD_PROCESS_H

#include "base/files.h"
#include "base/status.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace kintsugi {

/// The path of a program in the first of the folders, those of $PATH ahead of the others, that has
/// one of that name.
std::optional<std::string> findProgram(const std::string &name,
                                       const std::vector<std::string> &otherFolders = {});

/// A program that was started. It is ended and waited for at the latest when this goes.
class ChildProcess {
public:
  using Clock = std::chrono::steady_clock;
  /// The descriptor under which a program finds the channel that it was given.
  static constexpr int channelNumber = 3;

  /// Starts a program, whose path is the first of `command`. It has the standard streams open and,
  /// where that is valid, the channel, and nothing else of this process. A machine error where none
  /// can be started; a program that can't be run ends with 127 and says why.
  static Expected<ChildProcess> start(const std::vector<std::string> &command,
                                      const FileDescriptor &channel = {});

  /// The same for a copy of this process, which ends with what `work` gives and owns nothing that
  /// this one owns. This process must have one thread only: others would be missing in the copy,
  /// with what they hold.
  static Expected<ChildProcess> fork(const std::function<int()> &work,
                                     const FileDescriptor &channel = {});

  ChildProcess(ChildProcess &&other);
  ChildProcess &operator=(ChildProcess &&) = delete;
  ~ChildProcess();

  /// Whether there is something to read in `file`, or its end, by then.
  bool waitFor(const FileDescriptor &file, Clock::time_point end);

  /// Its status as waitpid() gives it; nothing where it has not ended until then.
  std::optional<int> waitUntil(Clock::time_point end);

  /// Whether nobody can say how it ended: somebody else has waited for it, or nobody may.
  bool isLost() const { return lost; }

  /// Sends it a signal, where it has not ended.
  void signal(int number);

  /// The beginning of what it has said so far, in one line.
  std::string said() const;

  /// The end of what it has said so far.
  const std::string &lastWords() const { return tail; }

private:
  ChildProcess(pid_t process, FileDescriptor output);
  bool wait(int options);
  bool takeOutput();
  bool listen(std::chrono::milliseconds pause);

  pid_t process;
  FileDescriptor output;
  std::string head, tail;
  int status = 0;
  bool hasEnded = false, isSilent = false, lost = false;
};

/// Asks those that run to end, and waits for them a second; then they are killed. Safe in a signal
/// handler that ends the process.
void endChildren();

/// Waits for a program, whose path is the first of `command`. A machine error of one line, with the
/// beginning of what it said, where it can't be run, takes longer than `limit`, or fails.
Status runProgram(const std::vector<std::string> &command, std::chrono::milliseconds limit);

} // namespace kintsugi

#endif // KINTSUGI_BASE_CHILD_PROCESS_H
