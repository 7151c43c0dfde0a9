// Walking through what arrives on a netlink socket: messages, and attributes within them. Pure:
// bytes in, values out, nothing outside the bytes is ever read.
//
// Everything here reports input that is truncated or contradicts itself as INVALID_ARGUMENT.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/status.h"

namespace fabric::host {

using Bytes = std::span<const std::byte>;

struct NetlinkMessage {
  std::uint16_t type = 0;
  std::uint16_t flags = 0;
  std::uint32_t sequence = 0;
  Bytes payload;
};

struct NetlinkAttribute {
  std::uint16_t type = 0;  // Without the nested and byte-order flags
  Bytes payload;
};

// Takes the first message or attribute, its padding included, off the front of `rest`; false at the
// end. `rest` starts at a multiple of 4 bytes in memory.
Result<bool> NextMessage(Bytes& rest, NetlinkMessage& message);
Result<bool> NextAttribute(Bytes& rest, NetlinkAttribute& attribute);

// What a message is to one who waits for messages of type `type`. What the kernel reports by
// NLMSG_ERROR or by a failed NLMSG_DONE comes back as FromErrno() has it; messages of other types
// are INVALID_ARGUMENT.
enum class Reply { kData, kSkip, kEnd };
Result<Reply> Classify(const NetlinkMessage& message, int type);

// Calls `each(payload)` for every message of type `type` up to the end of the answer. `datagrams`:
// one or several in a row.
template <class Each>
Status ForEachReply(Bytes datagrams, int type, const Each& each) {
  NetlinkMessage message;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, NextMessage(datagrams, message));
    if (!more) return {};
    ASSIGN_OR_RETURN(const Reply reply, Classify(message, type));
    if (reply == Reply::kEnd) return {};
    if (reply == Reply::kData) RETURN_IF_ERROR(each(message.payload));
  }
}

// Calls `each(attribute)` for every attribute of a message, behind its family header, or of a
// nested attribute. Padding attributes (type 0) are among them.
template <class Each>
Status ForEachAttribute(Bytes attributes, const Each& each) {
  NetlinkAttribute attribute;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, NextAttribute(attributes, attribute));
    if (!more) return {};
    RETURN_IF_ERROR(each(attribute));
  }
}

Status WrongSize(std::string_view what, std::size_t expected, std::size_t seen);

// The structure at the front of a payload. Structures grow at their end: a longer one is fine.
template <class Struct>
Result<Struct> ReadStruct(Bytes payload, std::string_view what) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  if (payload.size() < sizeof(Struct)) return WrongSize(what, sizeof(Struct), payload.size());
  Struct value;
  std::memcpy(&value, payload.data(), sizeof(value));
  return value;
}

// An integer attribute of exactly its size, in host order.
template <class Integer, class To>
Status ReadInteger(const NetlinkAttribute& attribute, std::string_view what, To& to) {
  static_assert(std::is_integral_v<Integer>);
  if (attribute.payload.size() != sizeof(Integer))
    return WrongSize(what, sizeof(Integer), attribute.payload.size());
  Integer value;
  std::memcpy(&value, attribute.payload.data(), sizeof(value));
  to = value;
  return {};
}

// The attribute up to its first NUL byte.
std::string_view ReadText(const NetlinkAttribute& attribute);

}  // namespace fabric::host
