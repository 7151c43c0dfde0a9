// Names and texts of actions on nodes. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "fabric/v1/node_action.pb.h"

namespace fabric {

std::string_view Name(v1::NodeActionKind kind);    // slurm-drain, kubernetes-taint
std::string_view Name(v1::NodeActionState state);  // proposed, approved, applied

// PROPOSED, APPROVED, APPLIED or REVERTING: a program or a person still has to act.
bool IsOpen(v1::NodeActionState state);

// INVALID_ARGUMENT with the closest name.
Result<v1::NodeActionKind> ParseNodeActionKind(std::string_view name);
Result<v1::NodeActionState> ParseNodeActionState(std::string_view name);

// "action a1 applied by fabric-slurm: slurm-drain of n1: port mlx5_0/1 is slow"
std::string NodeActionText(const v1::NodeAction& action);

}  // namespace fabric
