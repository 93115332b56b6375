#include "api/compiler/fault_report.h"

#include "api/compiler/identity.h"
#include "base/files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace kintsugi::api {

namespace fs = std::filesystem;

static constexpr std::string_view folderPrefix = "kintsugi-fault-";
static constexpr const char *reportName = "report.txt";
static constexpr const char *modelNames[] = {"model.onnx", "model.te"};

namespace {

/// For a shell.
std::string quoted(const std::string &text) {
  std::string result = "'";
  for (char letter : text)
    result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return result + "'";
}

/// The command line's flags for an option.
std::string flagsOf(const std::string &key, const Json &value) {
  if (key == "dims" || key == "bind") {
    std::string flags;
    for (const auto &[name, each] : value.items())
      flags += " " + flagOf(key) + " " +
               quoted(name + "=" +
                      (each.is_string()  ? each.get<std::string>()
                       : each.is_array() ? each[0].dump() + ".." + each[1].dump() // A range.
                                         : each.dump()));
    return flags;
  }
  if (value.is_boolean())
    return value.get<bool>() && key != "cache" ? " " + flagOf(key) : "";
  return " " + flagOf(key) + " " +
         (value.is_string() ? quoted(value.get<std::string>()) : value.dump());
}

std::string commandOf(const Request &request, const Settings &settings) {
  bool onlyLooks = request.task == Task::Inspect || request.task == Task::Survey;
  std::string verb = onlyLooks                              ? "inspect"
                     : request.task == Task::CompareKernels ? "compare --per-kernel"
                                                            : "compile";
  std::string command = "kintsugi " + verb + " " + quoted(request.model);
  if (Expected<Json> options = parseJson(settings.given); options.ok())
    for (const auto &[key, value] : options->items())
      command += flagsOf(key, value);
  if (request.task == Task::Emit)
    return command + " --emit " + request.step;
  return command + (request.task == Task::Compile ? " -o out.kin" : "");
}

/// What has a user's name in it is only what the user gave.
std::string textOf(const std::string &what, const Request &request, const Settings &settings,
                   const std::string &lastWords) {
  static constexpr const char *purposes[] = {"this machine", "all machines", "the reference",
                                             "the rounded reference"};
  std::error_code error;
  std::string folder = fs::current_path(error).string();
  return "what       " + what + "\nmodel      " + fs::absolute(request.model, error).string() +
         "\ncommand    " + commandOf(request, settings) + "\nin         " + folder +
         "\nfor        " + purposes[static_cast<int>(settings.purpose)] + "\noptions    " +
         settings.given + "\ncompiler   " + compilerIdentity() + "\nmachine    " +
         settings.compile.machine.print() + "\n\nWhat it said last:\n" + lastWords + "\n";
}

std::string temporaryFolder() {
  const char *folder = std::getenv("TMPDIR");
  return folder && *folder ? folder : "/tmp";
}

/// Models that make the compiler fail may come in any number: a few folders are kept.
void removeOldFolders(const fs::path &parent) {
  constexpr size_t kept = 15;
  std::vector<std::pair<int64_t, fs::path>> found;
  std::error_code error;
  fs::directory_iterator entry(parent, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    struct stat info;
    bool isOwn = entry->path().filename().string().starts_with(folderPrefix) &&
                 ::lstat(entry->path().c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
                 info.st_uid == ::geteuid();
    if (isOwn)
      found.emplace_back(info.st_mtim.tv_sec, entry->path());
  }
  std::sort(found.rbegin(), found.rend());
  for (size_t i = kept; i < found.size(); ++i) {
    for (const char *name : {reportName, modelNames[0], modelNames[1]})
      ::unlink((found[i].second / name).c_str());
    ::rmdir(found[i].second.c_str()); // Where somebody has put more there, it stays.
  }
}

/// Nothing where there can't be one.
std::optional<std::string> makeFolder(const Request &request, const std::string &report) {
  removeOldFolders(temporaryFolder());
  std::string folder = temporaryFolder() + "/" + std::string(folderPrefix) + "XXXXXX";
  if (!::mkdtemp(folder.data()))
    return std::nullopt;
  if (!writeFileAtomic(folder + "/" + reportName, report).ok()) {
    ::rmdir(folder.c_str());
    return std::nullopt;
  }
  constexpr uintmax_t mostBytes = uintmax_t(16) << 20; // Of larger ones the report has the place.
  std::error_code error;
  if (fs::is_regular_file(request.model, error) && fs::file_size(request.model, error) <= mostBytes)
    fs::copy_file(request.model, folder + "/" + modelNames[request.model.ends_with(".te")], error);
  return folder;
}

} // namespace

Error describeFault(const std::string &what, const Request &request, const Settings &settings,
                    const std::string &lastWords) {
  std::optional<std::string> folder =
      makeFolder(request, textOf(what, request, settings, lastWords));
  std::string found = what.starts_with(request.model) ? what : request.model + ": " + what;
  return internalError(found + "; this is a fault of kintsugi's own: " +
                       (folder ? "please report it with what is in " + *folder
                               : temporaryFolder() + " has no room for what reproduces it"));
}

} // namespace kintsugi::api
