// Lines of logs that are known: what they look like, what they mean and what may have caused them.
// A table for each library, listed in CMakeLists.txt. The texts of the libraries are facts; where
// versions differ, one row takes all of them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/explain/cause.h"

namespace fabric::explain {

enum class Role : std::uint8_t {
  kCause,        // Says itself what is wrong
  kFailure,      // Something failed, and several causes make it fail so
  kSlow,         // Works, but slower than it could
  kNotice,       // Harmless alone
  kConsequence,  // Follows from an earlier failure; never the root
  kContext,      // No problem at all; tells who is who, or how the job was set up
};

// What a row's line tells beyond its groups; see context.h.
enum class Fact : std::uint8_t {
  kNone,
  kAddressOfHost,  // Group peer is an address of the host that speaks.
  kRankOfProcess,  // Group rank
  kDevicesUsed,    // "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE" in group detail
  kGidIndexSet,    // Group gid_index, by the user
  kCrossNicSet,    // Group detail
  kPxnDisabled,
  kAmdGpu,
  kGdrEnabled,
  kSizePassed,   // Group detail: bytes of a message size that a benchmark has finished
  kPortEvent,    // Group hca
  kGidChanged,   // Group hca
  kDestination,  // Group remote_gid, of the completion that was told just before
};

// Named groups that patterns may have, all optional: hca, peer, status, synd, vendor, wc_text,
// local_gid, remote_gid, gid_index, rank, detail. `status`, `synd` and `wc_text` make the line a
// completion: title, meaning and causes are then those of the status.
struct Message {
  std::string_view id;
  std::string_view needle;   // Stands in every such line; makes finding fast
  std::string_view pattern;  // RE2, searched for in the line
  Role role = Role::kFailure;
  std::string_view title;
  std::string_view meaning;
  Causes causes = {};
  Fact fact = Fact::kNone;
};

// The first row that matches a line takes it.
struct MessageTable {
  std::string_view library;
  std::span<const Message> messages;
};

std::span<const MessageTable* const> AllMessageTables();  // Generated; see CMakeLists.txt.

}  // namespace fabric::explain
