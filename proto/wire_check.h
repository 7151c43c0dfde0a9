// Check of an encoded message against the bounds, before it is decoded. A message of 2 MiB can
// take 1 GiB of memory when it is decoded. Pure.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <memory>
#include <optional>
#include <string_view>

#include "proto/bounds.h"

namespace fabric {

// The bound of a list: its own row, or "list_elements".
const Bound& BoundOfList(const google::protobuf::FieldDescriptor& field);

struct WireCheckResult {
  std::optional<Excess> excess;    // The first bound that is exceeded
  std::uint64_t memory = 0;        // That the decoded message takes, in bytes; an estimate
  bool invalid_timestamp = false;  // A Timestamp is out of range; see ClearInvalidTimestamps()
};

// Immutable after construction: safe to use from several threads.
class WireCheck {
 public:
  // For messages of `type`. `bytes` and `memory` are the bounds of a whole message.
  WireCheck(const google::protobuf::Descriptor& type, const Bound& bytes, const Bound& memory);
  ~WireCheck();
  WireCheck(WireCheck&&) noexcept;

  // Stops at the first excess and at the first byte that is not protobuf: the parser reports that.
  // Lists of a message that occurs twice are counted for each occurrence; the bound on memory
  // holds for their sum.
  WireCheckResult Check(google::protobuf::io::ZeroCopyInputStream& wire, std::size_t size) const;
  WireCheckResult Check(std::string_view wire) const;

 private:
  struct Type;
  struct Types;
  struct Scan;

  std::unique_ptr<Types> types_;
  const Type* root_;
  const Bound& bytes_;
  const Bound& memory_;
};

}  // namespace fabric
