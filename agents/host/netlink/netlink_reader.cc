#include "agents/host/netlink/netlink_reader.h"

#include <netlink/attr.h>
#include <netlink/msg.h>

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace fabric::host {
namespace {

Status Bad(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}

// libnl counts in int, and reads headers in place.
Status CheckWalkable(Bytes bytes) {
  if (bytes.size() > std::numeric_limits<int>::max()) return Bad("netlink: over 2 GiB of input");
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % NLMSG_ALIGNTO != 0)
    return Bad("netlink: input does not start at a multiple of 4 bytes");
  return {};
}

// The status of an NLMSG_ERROR or NLMSG_DONE; `status` counts down from 0.
Status FromKernel(std::int32_t status) {
  if (status == 0) return {};
  if (status > 0 || status == std::numeric_limits<std::int32_t>::min())
    return Bad(Format("netlink: expected a negative error number, saw {}", status));
  return FromErrno(-status, "the kernel answered");
}

// The last message or attribute of all may lack its padding.
void Skip(Bytes& rest, std::size_t size) {
  rest = rest.subspan(std::min(rest.size(), std::size_t{NLMSG_ALIGN(size)}));
}

}  // namespace

Status WrongSize(std::string_view what, std::size_t expected, std::size_t seen) {
  return Bad(Format("netlink: {}: expected {} bytes, saw {}", what, expected, seen));
}

Result<bool> NextMessage(Bytes& rest, NetlinkMessage& message) {
  if (rest.empty()) return false;
  RETURN_IF_ERROR(CheckWalkable(rest));
  const auto* const header = reinterpret_cast<const nlmsghdr*>(rest.data());
  if (nlmsg_ok(header, static_cast<int>(rest.size())) == 0)
    return Bad(Format("netlink: {} bytes left that are no whole message", rest.size()));
  message = {.type = header->nlmsg_type,
             .flags = header->nlmsg_flags,
             .sequence = header->nlmsg_seq,
             .payload = rest.subspan(NLMSG_HDRLEN, header->nlmsg_len - std::size_t{NLMSG_HDRLEN})};
  Skip(rest, header->nlmsg_len);
  return true;
}

Result<bool> NextAttribute(Bytes& rest, NetlinkAttribute& attribute) {
  if (rest.empty()) return false;
  RETURN_IF_ERROR(CheckWalkable(rest));
  const auto* const at = reinterpret_cast<const nlattr*>(rest.data());
  if (nla_ok(at, static_cast<int>(rest.size())) == 0)
    return Bad(Format("netlink: {} bytes left that are no whole attribute", rest.size()));
  attribute = {.type = static_cast<std::uint16_t>(nla_type(at)),
               .payload = {static_cast<const std::byte*>(nla_data(at)),
                           static_cast<std::size_t>(nla_len(at))}};
  Skip(rest, at->nla_len);
  return true;
}

Result<Reply> Classify(const NetlinkMessage& message, int type) {
  if (message.type == type) return Reply::kData;
  switch (message.type) {
    case NLMSG_NOOP: return Reply::kSkip;
    case NLMSG_OVERRUN: return Status(Code::kDataLoss, "netlink: data was lost");
    case NLMSG_DONE: {
      if (message.payload.size() < sizeof(std::int32_t)) return Reply::kEnd;
      ASSIGN_OR_RETURN(const auto status, ReadStruct<std::int32_t>(message.payload, "the end"));
      RETURN_IF_ERROR(FromKernel(status));
      return Reply::kEnd;
    }
    case NLMSG_ERROR: {
      ASSIGN_OR_RETURN(const auto error, ReadStruct<std::int32_t>(message.payload, "an error"));
      RETURN_IF_ERROR(FromKernel(error));
      return Reply::kEnd;
    }
    default:
      return Bad(Format("netlink: expected messages of type {}, saw {}", type, message.type));
  }
}

std::string_view ReadText(const NetlinkAttribute& attribute) {
  const std::string_view text(reinterpret_cast<const char*>(attribute.payload.data()),
                              attribute.payload.size());
  return text.substr(0, text.find('\0'));
}

}  // namespace fabric::host
