// Actions on nodes: drains and taints of nodes that programs of schedulers propose. A person, or
// the setting remediation, approves them within limits. fabricd itself changes no node.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/control/actions/action_options.h"
#include "daemon/control/outbox.h"
#include "fabric/v1/fabric.pb.h"
#include "fabric/v1/node_action.pb.h"

namespace fabric::control {

class NodeActions {
 public:
  static constexpr std::size_t kOpenMax = 1000;
  static constexpr std::size_t kEndedMax = 1000;  // The oldest ones are removed.
  static constexpr Duration kProposedMax = std::chrono::hours(24);
  static constexpr Duration kApprovedMax = std::chrono::hours(1);
  static constexpr Duration kUnknownMax = std::chrono::hours(1);  // After the first Tick
  // After a person rejected or reverted an action, no program can propose it again for this time.
  static constexpr Duration kHold = std::chrono::hours(24);

  NodeActions(const ActionOptions& options, Outbox& outbox) : options_(options), outbox_(outbox) {}

  void Restore(std::vector<v1::NodeAction> stored);

  // `nodes`: number of known nodes. Each call stores what it changes, or fails with UNAVAILABLE and
  // changes nothing. INVALID_ARGUMENT with the field; FAILED_PRECONDITION: the state or the mode
  // does not permit it; RESOURCE_EXHAUSTED: a limit; NOT_FOUND: no such id.
  Result<v1::NodeAction> Propose(const v1::ProposeNodeActionRequest& wanted, std::size_t nodes,
                                 Moment now);
  // PERMISSION_DENIED: the author proposed it.
  Result<v1::NodeAction> Approve(const v1::ApproveNodeActionRequest& request, std::size_t nodes,
                                 Moment now);
  Result<v1::NodeAction> Revert(const v1::RevertNodeActionRequest& request, Moment now);
  // A repeated report changes nothing.
  Result<v1::NodeAction> Report(const v1::ReportNodeActionRequest& request, Moment now);
  // Ends the open actions of a removed node. What cannot be stored now, Tick ends later.
  void EndOfNode(const std::string& node, const std::string& reason, Moment now);
  // Ends what was not approved or applied in time. After kUnknownMax, in which the nodes of the
  // state can come back, also ends the open actions of nodes that are not known.
  void Tick(const std::function<bool(const std::string& node)>& known, Moment now);

  std::vector<v1::NodeAction> All() const;               // By number
  v1::NodeActionLimits Limits(std::size_t nodes) const;  // At the last Tick

 private:
  using Number = std::uint64_t;  // In the id

  Result<Number> Find(const std::string& id) const;
  void Expire(Number number, const std::string& why, Moment now);
  // Why no action can be approved now.
  Status CheckLimits(std::size_t nodes) const;
  // Why this node cannot get an action of this kind again now.
  Status CheckHold(const v1::NodeAction& wanted, WallTime now) const;
  // Adds changes to the history and stores the action, all or nothing.
  Result<v1::NodeAction> Put(Number number, v1::NodeAction action,
                             std::vector<v1::NodeActionChange> changes, Moment now);
  void RemoveOldest();

  ActionOptions options_;
  Outbox& outbox_;
  std::map<Number, v1::NodeAction> actions_;
  Number next_ = 1;
  WallTime now_ = {};  // Of the last call
  std::optional<SteadyTime> first_tick_;
};

}  // namespace fabric::control
