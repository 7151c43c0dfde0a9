#include "proto/wire_check.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/wire_format_lite.h>

#include <map>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr std::size_t kStringBytes = sizeof(std::string);
constexpr std::size_t kInlineBytes = 15;  // Of a std::string
constexpr std::size_t kUnknownFieldBytes = 16 + 2 * kStringBytes;

// 0: not a packed scalar, or one of variable size.
std::uint32_t FixedBytes(const FieldDescriptor& field) {
  switch (
      WireFormatLite::WireTypeForFieldType(static_cast<WireFormatLite::FieldType>(field.type()))) {
    case WireFormatLite::WIRETYPE_FIXED32: return 4;
    case WireFormatLite::WIRETYPE_FIXED64: return 8;
    default: return 0;
  }
}

// Its row, "Message.field", else `otherwise`.
const Bound& BoundOfField(const FieldDescriptor& field, const Bound& otherwise) {
  const std::string name = field.containing_type()->name() + "." + field.name();
  for (const Bound& bound : kBounds)
    if (bound.name == name) return bound;
  return otherwise;
}

}  // namespace

const Bound& BoundOfList(const FieldDescriptor& field) {
  return BoundOfField(field, BoundOf("list_elements"));
}

Status ToStatus(const Excess& excess) {
  return {Code::kResourceExhausted, Format("{}: expected at most {} {}, saw {}", excess.bound->name,
                                           excess.bound->limit, excess.bound->unit, excess.seen)};
}

struct WireCheck::Type {
  struct Field {
    const Type* message = nullptr;  // nullptr: a scalar or text
    bool text = false;
    std::uint32_t fixed_bytes = 0;  // Of a packed scalar
    int list = -1;                  // Index of the list in its message; -1: no list
    const Bound* bound = nullptr;   // Of the list, else of the text
  };
  std::size_t bytes = 0;  // Of an empty message in memory
  bool timestamp = false;
  std::unordered_map<int, Field> fields;  // By number
  std::size_t lists = 0;
};

struct WireCheck::Types {
  std::map<const Descriptor*, Type> all;

  const Type& Of(const Descriptor& descriptor) {
    const auto [at, fresh] = all.try_emplace(&descriptor);
    Type& type = at->second;
    if (!fresh) return type;
    type.bytes = google::protobuf::MessageFactory::generated_factory()
                     ->GetPrototype(&descriptor)
                     ->SpaceUsedLong();
    type.timestamp = &descriptor == google::protobuf::Timestamp::descriptor();
    for (int n = 0; n < descriptor.field_count(); ++n) {
      const FieldDescriptor& field = *descriptor.field(n);
      Type::Field& known = type.fields[field.number()];
      if (field.message_type() != nullptr) known.message = &Of(*field.message_type());
      known.text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
      known.fixed_bytes = FixedBytes(field);
      if (known.text) known.bound = &BoundOfField(field, BoundOf("text_bytes"));
      if (!field.is_repeated()) continue;
      known.list = static_cast<int>(type.lists++);
      known.bound = &BoundOfList(field);
    }
    return type;
  }
};

// One message. Each function returns false to stop.
struct WireCheck::Scan {
  CodedInputStream& in;
  const Bound& memory_max;
  WireCheckResult result = {};

  bool Stop(const Bound& bound, std::uint64_t seen) {
    result.excess = Excess{.bound = &bound, .seen = seen};
    return false;
  }
  bool Take(std::uint64_t bytes) {
    result.memory += bytes;
    return result.memory <= memory_max.limit || Stop(memory_max, result.memory);
  }

  bool Message(const Type& type) {
    if (!Take(type.bytes)) return false;
    std::vector<std::uint64_t> counts(type.lists);
    while (const std::uint32_t tag = in.ReadTag()) {
      const auto known = type.fields.find(WireFormatLite::GetTagFieldNumber(tag));
      if (known == type.fields.end()) {
        if (!Take(kUnknownFieldBytes) || !WireFormatLite::SkipField(&in, tag)) return false;
        continue;
      }
      const Type::Field& field = known->second;
      std::uint64_t elements = 1;
      if (!Value(type, field, tag, elements)) return false;
      if (field.list < 0) continue;
      std::uint64_t& count = counts[static_cast<std::size_t>(field.list)];
      count += elements;
      if (count > field.bound->limit) return Stop(*field.bound, count);
      if (!Take(8 * elements)) return false;
    }
    return true;
  }

  bool Value(const Type& type, const Type::Field& field, std::uint32_t tag,
             std::uint64_t& elements) {
    if (type.timestamp) return TimestampField(tag);
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED)
      return WireFormatLite::SkipField(&in, tag);
    std::uint32_t length = 0;
    if (!in.ReadVarint32(&length)) return false;
    if (field.text) return Text(length, field.list < 0 ? *field.bound : BoundOf("text_bytes"));
    const auto limit = in.PushLimit(static_cast<int>(length));
    const bool go_on =
        field.message != nullptr ? Message(*field.message) : Packed(field, length, elements);
    const bool complete = in.BytesUntilLimit() == 0;
    in.PopLimit(limit);
    return go_on && complete;
  }

  bool Text(std::uint32_t length, const Bound& bound) {
    if (length > bound.limit) return Stop(bound, length);
    return Take(kStringBytes + (length > kInlineBytes ? length : 0)) &&
           in.Skip(static_cast<int>(length));
  }

  bool Packed(const Type::Field& field, std::uint32_t length, std::uint64_t& elements) {
    elements = 0;
    if (field.fixed_bytes > 0) {
      elements = length / field.fixed_bytes;
      return in.Skip(static_cast<int>(length));
    }
    std::uint64_t value = 0;
    for (; in.BytesUntilLimit() > 0; ++elements)
      if (!in.ReadVarint64(&value)) return false;
    return true;
  }

  bool TimestampField(std::uint32_t tag) {
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_VARINT)
      return WireFormatLite::SkipField(&in, tag);
    std::uint64_t value = 0;
    if (!in.ReadVarint64(&value)) return false;
    google::protobuf::Timestamp time;
    if (WireFormatLite::GetTagFieldNumber(tag) == google::protobuf::Timestamp::kSecondsFieldNumber)
      time.set_seconds(static_cast<std::int64_t>(value));
    else
      time.set_nanos(static_cast<std::int32_t>(value));
    result.invalid_timestamp |= !IsValid(time);
    return true;
  }
};

WireCheck::WireCheck(const Descriptor& type, const Bound& bytes, const Bound& memory)
    : types_(std::make_unique<Types>()), root_(&types_->Of(type)), bytes_(bytes), memory_(memory) {}
WireCheck::~WireCheck() = default;
WireCheck::WireCheck(WireCheck&&) noexcept = default;

WireCheckResult WireCheck::Check(google::protobuf::io::ZeroCopyInputStream& wire,
                                 std::size_t size) const {
  if (size > bytes_.limit) return {.excess = Excess{.bound = &bytes_, .seen = size}};
  CodedInputStream in(&wire);
  Scan scan{.in = in, .memory_max = memory_};
  scan.Message(*root_);
  return scan.result;
}

WireCheckResult WireCheck::Check(std::string_view wire) const {
  google::protobuf::io::ArrayInputStream in(wire.data(), static_cast<int>(wire.size()));
  return Check(in, wire.size());
}

}  // namespace fabric
