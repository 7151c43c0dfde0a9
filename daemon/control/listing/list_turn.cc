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

// The field with the elements.
const FieldDescriptor& ListOf(const google::protobuf::Descriptor& response,
                              const google::protobuf::Descriptor& element) {
  int n = 0;
  while (response.field(n)->message_type() != &element) ++n;
  return *response.field(n);
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
  turn.element_ = &element;
  turn.filtered_ = !Trim(filter_text).empty();
  turn.size_ = PageSizeOf(request);
  turn.most_ = turn.filtered_ ? kTurnElementsMax : turn.size_;
  turn.after_ = std::move(key);
  return turn;
}

void ListTurn::Finish(Message& response) const {
  const FieldDescriptor& list = ListOf(*response.GetDescriptor(), *element_);
  const google::protobuf::Reflection& reflection = *response.GetReflection();
  const int collected = reflection.FieldSize(response, &list);
  int kept = 0, looked_at = 0;
  for (; looked_at < collected && static_cast<std::uint32_t>(kept) < size_; ++looked_at) {
    Message& element = *reflection.MutableRepeatedMessage(&response, &list, looked_at);
    if (!filter_.Matches(element)) continue;
    mask_.Apply(element);
    if (kept != looked_at) reflection.SwapElements(&response, &list, kept, looked_at);
    ++kept;
  }
  for (int n = collected; n > kept; --n) reflection.RemoveLast(&response, &list);
  if (looked_at == collected && done_) return;
  std::string_view last = after_;
  if (looked_at > 0) last = keys_[static_cast<std::size_t>(looked_at) - 1];
  if (looked_at == collected && !skipped_.empty() && skipped_at_ == keys_.size()) last = skipped_;
  reflection.SetString(&response, FieldNamed(response, "next_page_token"), Token(last));
}

std::string ListTurn::Token(std::string_view key) const {
  std::string token = Format("{:016x}", fingerprint_);
  for (const char c : key) token += Format("{:02x}", static_cast<unsigned char>(c));
  return token;
}

}  // namespace fabric::control
