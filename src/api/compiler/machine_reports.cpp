//===- machine_reports.cpp - Reports of the machine and the cache -----------===//

#include "api/compiler/reports.h"

#include "base/file_cache.h"

namespace kintsugi::api {

Expected<Json> describeMachine() { return parseJson(machine::Machine::detect().print()); }

static Json listEntries(const std::vector<FileCache::Listed> &entries) {
  Json list = Json::array();
  for (const FileCache::Listed &entry : entries)
    list.push_back({{"key", entry.key.hex()},
                    {"bytes", entry.bytes},
                    {"last_used", double(entry.lastUsed) * 1e-9}});
  return list;
}

Expected<Json> manageCache(const std::string &action, uint64_t maxBytes) {
  if (action != "ls" && action != "gc" && action != "clear")
    return usageError("cache " + action + ": use ls, gc or clear");
  KINTSUGI_ASSIGN(std::string folder, FileCache::defaultFolder());
  KINTSUGI_ASSIGN(FileCache cache, FileCache::open(folder));
  FileCache::Removed removed;
  if (action != "ls") {
    KINTSUGI_ASSIGN(removed, cache.gc(action == "gc" ? maxBytes : 0));
  }
  KINTSUGI_ASSIGN(std::vector<FileCache::Listed> entries, cache.list());
  uint64_t bytes = 0;
  for (const FileCache::Listed &entry : entries)
    bytes += entry.bytes;
  return Json{{"folder", cache.folder()},
              {"entries", listEntries(entries)},
              {"bytes", bytes},
              {"removed_entries", removed.entries},
              {"removed_bytes", removed.bytes}};
}

} // namespace kintsugi::api
