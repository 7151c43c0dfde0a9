#include "daemon/store/row_size.h"

#include <optional>

#include "fabric/v1/inventory.pb.h"
#include "proto/bounds.h"
#include "proto/wire_check.h"

namespace fabric::store {
namespace {

// Snapshots grow by changes, to twice a message at most.
constexpr Bound kNodeBytes = {"stored_node_bytes", 2 * Limit("agent_message_bytes"), "bytes",
                              "Snapshot in the state file."};
constexpr Bound kNodeMemory = {"stored_node_memory", 2 * Limit("agent_message_memory"), "bytes",
                               "Memory of a snapshot in the state file."};

}  // namespace

bool IsTooLarge(std::string_view bytes) {
  static const WireCheck check(*v1::NodeSnapshot::descriptor(), kNodeBytes, kNodeMemory);
  const std::optional<Excess> excess = check.Check(bytes).excess;
  // A long text takes no more memory than its bytes.
  return excess && excess->bound != &BoundOf("text_bytes");
}

}  // namespace fabric::store
