// Snapshots of a subnet on their way from an agent to the controller: one zstd frame, cut into
// parts. A frame can have the previous snapshot as its prefix, and then has only what changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "fabric/v1/subnet.pb.h"

namespace fabric::subnet {

// All parts of one snapshot.
struct Frame {
  std::string data;          // zstd
  std::uint64_t size = 0;    // Of the encoded snapshot
  std::uint64_t digest = 0;  // Of the encoded snapshot
  std::uint64_t base = 0;    // Digest of the prefix; 0: none

  friend bool operator==(const Frame&, const Frame&) = default;
};

// kSmall is a sixth smaller without a prefix and takes 15 times as long: 2 s for 10 MB.
enum class Effort { kFast, kSmall };

// `prefix`: the previous snapshot, encoded; empty: none. RESOURCE_EXHAUSTED above the bound
// subnet_snapshot_bytes.
Result<Frame> Compress(std::string_view encoded, std::string_view prefix,
                       Effort effort = Effort::kFast);
// The encoded snapshot. `prefix` is the one of Compress. INVALID_ARGUMENT for a damaged frame and
// for another prefix, RESOURCE_EXHAUSTED above the bound.
Result<std::string> Decompress(const Frame& frame, std::string_view prefix);

std::size_t PartsOf(const Frame& frame);                         // At least 1
v1::SubnetPart PartOf(const Frame& frame, std::uint32_t index);  // Less than PartsOf()

// Collects the parts of frames, which arrive in order.
class Assembly {
 public:
  // True when the part was the last one: then Take() has the frame. INVALID_ARGUMENT for a part
  // that does not continue the frame, RESOURCE_EXHAUSTED above the bound subnet_frame_bytes. After
  // an error, the next part starts a frame.
  Result<bool> Add(const v1::SubnetPart& part);
  Frame Take();

 private:
  Status Append(const v1::SubnetPart& part);

  Frame frame_;
  std::uint32_t parts_ = 0;
};

}  // namespace fabric::subnet
