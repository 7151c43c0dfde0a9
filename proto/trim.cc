#include "proto/trim.h"

#include <google/protobuf/descriptor.h>

#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "proto/wire_check.h"

namespace fabric {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Room for the gaps that Trim adds, and for the message around the snapshot.
constexpr std::size_t kReservedGaps = 64;
constexpr std::size_t kReservedBytes = 64 << 10;

// By the name of the field: the largest number of elements or bytes, and the number that is left.
struct Cut {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
};
using Cuts = std::map<std::string, Cut>;

void Note(const FieldDescriptor& field, std::uint64_t before, std::uint64_t after, Cuts& cuts) {
  Cut& cut = cuts[field.containing_type()->name() + "." + field.name()];
  cut.before = std::max(cut.before, before);
  cut.after = after;
}

void Shorten(Message& message, const FieldDescriptor& field, std::uint64_t to, Cuts& cuts) {
  const auto& reflection = *message.GetReflection();
  const auto size = static_cast<std::uint64_t>(reflection.FieldSize(message, &field));
  if (size <= to) return;
  Note(field, size, to, cuts);
  for (std::uint64_t n = size; n > to; --n) reflection.RemoveLast(&message, &field);
}

void ShortenText(Message& message, const FieldDescriptor& field, int index, Cuts& cuts) {
  const auto& reflection = *message.GetReflection();
  const std::string text = index < 0 ? reflection.GetString(message, &field)
                                     : reflection.GetRepeatedString(message, &field, index);
  if (text.size() <= Limit("text_bytes")) return;
  Note(field, text.size(), Limit("text_bytes"), cuts);
  std::string shorter(Utf8Prefix(text, Limit("text_bytes")));
  if (index < 0)
    reflection.SetString(&message, &field, std::move(shorter));
  else
    reflection.SetRepeatedString(&message, &field, index, std::move(shorter));
}

void ShortenAll(Message& message, Cuts& cuts) {
  const auto& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* const field : fields) {
    const bool text = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    if (!field->is_repeated()) {
      if (text) ShortenText(message, *field, -1, cuts);
      if (field->message_type() != nullptr)
        ShortenAll(*reflection.MutableMessage(&message, field), cuts);
      continue;
    }
    const bool gaps = field->number() == v1::NodeSnapshot::kGapsFieldNumber &&
                      field->containing_type() == v1::NodeSnapshot::descriptor();
    Shorten(message, *field, BoundOfList(*field).limit - (gaps ? kReservedGaps : 0), cuts);
    for (int n = 0; n < reflection.FieldSize(message, field); ++n) {
      if (text) ShortenText(message, *field, n, cuts);
      if (field->message_type() != nullptr)
        ShortenAll(*reflection.MutableRepeatedMessage(&message, field, n), cuts);
    }
  }
}

// The list of the snapshot that takes most memory; nullptr: there is none.
const FieldDescriptor* LargestList(const v1::NodeSnapshot& snapshot) {
  const auto& reflection = *snapshot.GetReflection();
  const FieldDescriptor* largest = nullptr;
  std::size_t most = 0;
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(snapshot, &fields);
  for (const FieldDescriptor* const field : fields) {
    if (!field->is_repeated() || field->message_type() == nullptr) continue;
    std::size_t bytes = 0;
    for (int n = 0; n < reflection.FieldSize(snapshot, field); ++n)
      bytes += reflection.GetRepeatedMessage(snapshot, field, n).SpaceUsedLong();
    if (bytes <= most) continue;
    most = bytes;
    largest = field;
  }
  return largest;
}

}  // namespace

void TrimToBounds(v1::NodeSnapshot& snapshot) {
  static const WireCheck check(*v1::NodeSnapshot::descriptor(), BoundOf("agent_message_bytes"),
                               BoundOf("agent_message_memory"));
  const auto fits = [&] {
    const std::string wire = snapshot.SerializeAsString();
    return wire.size() + kReservedBytes <= Limit("agent_message_bytes") &&
           !check.Check(wire).excess;
  };
  if (fits()) return;
  Cuts cuts;
  ShortenAll(snapshot, cuts);
  while (!fits()) {
    const FieldDescriptor* const field = LargestList(snapshot);
    if (field == nullptr) break;
    const int size = snapshot.GetReflection()->FieldSize(snapshot, field);
    Shorten(snapshot, *field, static_cast<std::uint64_t>(size) / 2, cuts);
  }
  for (const auto& [name, cut] : cuts) {
    v1::Gap& gap = *snapshot.add_gaps();
    gap.set_inspector("message_bounds");
    gap.set_path(name);
    gap.set_code(v1::GAP_CODE_RESOURCE_EXHAUSTED);
    gap.set_reason(
        Format("too large for a message: expected at most {}, saw {}; the rest is not "
               "reported",
               cut.after, cut.before));
  }
}

}  // namespace fabric
