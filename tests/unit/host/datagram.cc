#include "tests/unit/host/datagram.h"

#include <linux/netlink.h>

namespace fabric::host {

Datagram& Datagram::Raw(const void* from, std::size_t size) {
  const auto* const bytes = static_cast<const std::byte*>(from);
  bytes_.insert(bytes_.end(), bytes, bytes + size);
  bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  UpdateLength();
  return *this;
}

void Datagram::UpdateLength() {
  const auto length = static_cast<std::uint32_t>(bytes_.size() - message_);
  std::memcpy(bytes_.data() + message_, &length, sizeof(length));
}

Datagram& Datagram::Message(int type, int flags, std::uint32_t sequence) {
  message_ = bytes_.size();
  const nlmsghdr header{.nlmsg_type = static_cast<std::uint16_t>(type),
                        .nlmsg_flags = static_cast<std::uint16_t>(flags),
                        .nlmsg_seq = sequence};
  return Header(header);
}

Datagram& Datagram::Text(int attribute, std::string_view text) {
  std::vector<char> with_nul(text.begin(), text.end());
  with_nul.push_back('\0');
  return Attribute(attribute, with_nul.data(), with_nul.size());
}

Datagram& Datagram::Attribute(int attribute, const void* payload, std::size_t size) {
  const nlattr header{.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + size),
                      .nla_type = static_cast<std::uint16_t>(attribute)};
  return Header(header).Raw(payload, size);
}

Datagram& Datagram::Begin(int attribute) {
  open_.push_back(bytes_.size());
  return Attribute(attribute | NLA_F_NESTED, nullptr, 0);
}

Datagram& Datagram::End() {
  const std::size_t begin = open_.back();
  open_.pop_back();
  return Patch(begin, static_cast<std::uint16_t>(bytes_.size() - begin));
}

Datagram& Datagram::Done(std::int32_t status, std::uint32_t sequence) {
  return Message(NLMSG_DONE, NLM_F_MULTI, sequence).Header(status);
}

Datagram& Datagram::Error(std::int32_t error, std::uint32_t sequence) {
  return Message(NLMSG_ERROR, 0, sequence).Header(nlmsgerr{.error = error, .msg = {}});
}

Datagram& Datagram::Patch(std::size_t offset, std::uint16_t value) {
  std::memcpy(bytes_.data() + offset, &value, sizeof(value));
  return *this;
}

}  // namespace fabric::host
