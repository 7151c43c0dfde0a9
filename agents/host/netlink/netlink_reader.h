// Netlink message and attribute parser. Pure; never reads outside the given bytes.
//
// INVALID_ARGUMENT for truncated or inconsistent input.
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

// Removes the first message or attribute with its padding from `rest`; false at the end. `rest` is
// aligned to 4 bytes.
Result<bool> NextMessage(Bytes& rest, NetlinkMessage& message);
Result<bool> NextAttribute(Bytes& rest, NetlinkAttribute& attribute);

// Classifies a message for a caller that expects type `type`. NLMSG_ERROR and a failed NLMSG_DONE
// become FromErrno(); other types are INVALID_ARGUMENT.
enum class Reply { kData, kSkip, kEnd };
Result<Reply> Classify(const NetlinkMessage& message, int type);

// Calls `each(payload)` for every message of type `type` up to the end of the reply. `datagrams`:
// one or several in sequence.
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

// Calls `each(attribute)` for every attribute of a message (after its family header) or of a nested
// attribute, including padding attributes (type 0).
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

// The structure at the start of a payload, which may be longer: kernel structures grow at their
// end.
template <class Struct>
Result<Struct> ReadStruct(Bytes payload, std::string_view what) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  if (payload.size() < sizeof(Struct)) return WrongSize(what, sizeof(Struct), payload.size());
  Struct value;
  std::memcpy(&value, payload.data(), sizeof(value));
  return value;
}

// An integer attribute of exactly that size, in host order.
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
