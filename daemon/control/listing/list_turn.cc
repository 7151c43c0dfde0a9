#include "daemon/control/listing/list_turn.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <memory>

#include "base/hash.h"
#include "base/text.h"

namespace fabric::control {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

const FieldDescriptor* FieldNamed(const Message& message, const char* name) {
  return message.GetDescriptor()->FindFieldByName(name);
}

std::string TextOf(const Message& request, const char* name) {
  const FieldDescriptor* const field = FieldNamed(request, name);
  return field == nullptr ? std::string() : request.GetReflection()->GetString(request, field);
}

// Of all fields that must stay equal from page to page.
std::uint64_t FingerprintOf(const Message& request) {
  const std::unique_ptr<Message> copy(request.New());
  copy->CopyFrom(request);
  for (const char* name : {"page_size", "page_token", "fields"})
    if (const FieldDescriptor* const field = FieldNamed(request, name))
      copy->GetReflection()->ClearField(copy.get(), field);
  return Fnv(copy->SerializeAsString(), Fnv(request.GetDescriptor()->name()));
}

constexpr std::size_t kFingerprintDigits = 16;

// A token is the fingerprint and the key, in hexadecimal digits.
Result<std::string> KeyOf(std::string_view token, std::uint64_t fingerprint) {
  if (token.empty()) return std::string();
  const auto bad = [](std::string_view why) {
    return Status(Code::kInvalidArgument, Format("page_token: {}", why));
  };
  const auto found = ParseNumber<std::uint64_t>(token.substr(0, kFingerprintDigits), 16);
  if (token.size() <= kFingerprintDigits || token.size() % 2 != 0 || !found.ok())
    return bad("expected the next_page_token of the page before");
  if (*found != fingerprint)
    return bad("belongs to another request: expected equal fields on all pages");
  std::string key;
  for (std::size_t at = kFingerprintDigits; at < token.size(); at += 2) {
    const auto byte = ParseNumber<std::uint8_t>(token.substr(at, 2), 16);
    if (!byte.ok()) return bad("expected the next_page_token of the page before");
    key += static_cast<char>(*byte);
  }
  return key;
}

}  // namespace

std::uint32_t PageSizeOf(const Message& request) {
  const FieldDescriptor* const field = FieldNamed(request, "page_size");
  const std::uint32_t wanted =
      field == nullptr ? 0 : request.GetReflection()->GetUInt32(request, field);
  return wanted == 0 ? kPageSizeDefault : std::min(wanted, kPageSizeMax);
}

Result<ListTurn> ListTurn::Start(const Message& request,
                                 const google::protobuf::Descriptor& element, Moment now) {
  const std::string filter_text = TextOf(request, "filter");
  ASSIGN_OR_RETURN(Filter filter, Filter::Parse(filter_text, element, now));
  ASSIGN_OR_RETURN(FieldMask mask, FieldMask::Parse(TextOf(request, "fields"), element));
  const std::uint64_t fingerprint = FingerprintOf(request);
  ASSIGN_OR_RETURN(std::string key, KeyOf(TextOf(request, "page_token"), fingerprint));
  ListTurn turn(fingerprint, std::move(filter), std::move(mask));
  turn.filtered_ = !Trim(filter_text).empty();
  turn.size_ = PageSizeOf(request);
  turn.key_ = std::move(key);
  return turn;
}

std::string ListTurn::Token() const {
  std::string token = Format("{:016x}", fingerprint_);
  for (const char c : key_) token += Format("{:02x}", static_cast<unsigned char>(c));
  return token;
}

}  // namespace fabric::control
