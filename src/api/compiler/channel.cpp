#include "api/compiler/channel.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sys/socket.h>
#include <unistd.h>

namespace kintsugi::api {

/// Of one part of a message. The assembly of a large model is the longest there is.
constexpr uint64_t mostBytes = uint64_t(4) << 30;
constexpr uint64_t mostTexts = 16;

static bool sendAll(const FileDescriptor &channel, const void *bytes, size_t size) {
  for (auto *next = static_cast<const char *>(bytes); size > 0;) {
    ssize_t count = ::send(channel.get(), next, size, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR)
      return false;
    next += std::max<ssize_t>(count, 0);
    size -= static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
  return true;
}

static bool receiveAll(const FileDescriptor &channel, void *bytes, size_t size) {
  for (auto *next = static_cast<char *>(bytes); size > 0;) {
    ssize_t count = ::recv(channel.get(), next, size, 0);
    if (count == 0 || (count < 0 && errno != EINTR))
      return false;
    next += std::max<ssize_t>(count, 0);
    size -= static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
  return true;
}

static bool sendText(const FileDescriptor &channel, const std::string &text) {
  uint64_t size = text.size();
  return sendAll(channel, &size, sizeof(size)) && sendAll(channel, text.data(), text.size());
}

/// In pieces, so that only bytes that were sent take memory.
static std::optional<std::string> receiveText(const FileDescriptor &channel) {
  constexpr uint64_t piece = uint64_t(1) << 20;
  uint64_t size = 0;
  std::string text;
  if (!receiveAll(channel, &size, sizeof(size)) || size > mostBytes)
    return std::nullopt;
  while (text.size() < size) {
    size_t filled = text.size(), next = std::min<uint64_t>(piece, size - filled);
    text.resize(filled + next);
    if (!receiveAll(channel, text.data() + filled, next))
      return std::nullopt;
  }
  return text;
}

Expected<std::pair<FileDescriptor, FileDescriptor>> makeChannel() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return machineError(std::string("can't make a channel to the compiler's process: ") +
                        std::strerror(errno));
  return std::pair(FileDescriptor(ends[0]), FileDescriptor(ends[1]));
}

bool sendMessage(const FileDescriptor &channel, const Message &message) {
  uint64_t texts = message.texts.size();
  if (!sendText(channel, printJson(message.json)) || !sendAll(channel, &texts, sizeof(texts)))
    return false;
  for (const std::string &text : message.texts)
    if (!sendText(channel, text))
      return false;
  return true;
}

std::optional<Message> receiveMessage(const FileDescriptor &channel) {
  std::optional<std::string> head = receiveText(channel);
  uint64_t texts = 0;
  if (!head || !receiveAll(channel, &texts, sizeof(texts)) || texts > mostTexts)
    return std::nullopt;
  Expected<Json> json = parseJson(*head, {.maxBytes = mostBytes});
  if (!json.ok() || !json->is_object())
    return std::nullopt;
  Message message{std::move(*json), {}};
  for (uint64_t i = 0; i < texts; ++i) {
    std::optional<std::string> text = receiveText(channel);
    if (!text)
      return std::nullopt;
    message.texts.push_back(std::move(*text));
  }
  return message;
}

} // namespace kintsugi::api
