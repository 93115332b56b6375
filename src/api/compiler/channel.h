//===- channel.h - Messages between a host and its worker ---------------------===//
//
// A message is a JSON object and any number of texts, which may hold any bytes. Either end may go
// away or be at fault at any time: reading checks everything.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_CHANNEL_H
#define KINTSUGI_API_COMPILER_CHANNEL_H

#include "base/files.h"
#include "base/json.h"

#include <utility>
#include <vector>

namespace kintsugi::api {

struct Message {
  Json json;
  std::vector<std::string> texts;
};

/// The two ends of a new channel.
Expected<std::pair<FileDescriptor, FileDescriptor>> makeChannel();

/// False where the other end is gone.
bool sendMessage(const FileDescriptor &channel, const Message &message);

/// Nothing where the other end is gone, or sent what is no message.
std::optional<Message> receiveMessage(const FileDescriptor &channel);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_CHANNEL_H
