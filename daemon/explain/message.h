// Message tables: patterns of known log lines, their meaning and likely causes. One table for each
// library, listed in CMakeLists.txt. One row covers all versions of a library.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/explain/cause.h"

namespace fabric::explain {

enum class Role : std::uint8_t {
  kCause,        // States the cause itself
  kFailure,      // A failure with several possible causes
  kSlow,         // Works, but slower than possible
  kNotice,       // Harmless by itself
  kConsequence,  // Follows from an earlier failure; never the root
  kContext,      // Not a problem; identifies hosts or settings
};

// Additional meaning of a row's line; see context.h.
enum class Fact : std::uint8_t {
  kNone,
  kAddressOfHost,  // Group peer is an address of the host of the line
  kRankOfProcess,  // Group rank
  kDevicesUsed,    // "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE" in group detail
  kGidIndexSet,    // Group gid_index, by the user
  kGidIndexZero,   // Group detail: a version of NCCL whose default GID index is 0
  kCrossNicSet,    // Group detail
  kPxnDisabled,
  kAmdGpu,
  kGdrEnabled,
  kGpuBuffer,    // A benchmark uses memory of a GPU.
  kSizePassed,   // Group detail: message size that a benchmark finished, in bytes
  kPortEvent,    // Group hca
  kLinkUp,       // Group hca
  kLinkDown,     // Group hca: a port event, unless the link has not been up since the boot
  kBoot,         // A kernel starts
  kGidChanged,   // Group hca
  kDestination,  // Group remote_gid, for the completion before it
};

// Named groups of patterns, all optional: hca, peer, status, synd, vendor, wc_text, local_gid,
// remote_gid, gid_index, rank, detail. With `status`, `synd` or `wc_text` the line is a completion:
// the status then gives title, meaning and causes.
struct Message {
  std::string_view id;
  std::string_view needle;   // Occurs in every such line; speeds up the search
  std::string_view pattern;  // RE2, searched for in the line
  Role role = Role::kFailure;
  std::string_view title;
  std::string_view meaning;
  Causes causes = {};
  Fact fact = Fact::kNone;
};

// The first matching row applies.
struct MessageTable {
  std::string_view library;
  std::span<const Message> messages;
};

std::span<const MessageTable* const> AllMessageTables();  // Generated; see CMakeLists.txt.

}  // namespace fabric::explain
