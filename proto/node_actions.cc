#include "proto/node_actions.h"

#include <array>

#include "base/suggest.h"
#include "base/text.h"

namespace fabric {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"?", "slurm-drain", "kubernetes-taint"};
constexpr std::array<std::string_view, 9> kStates = {"?",        "proposed",  "approved",
                                                     "applied",  "reverting", "reverted",
                                                     "rejected", "failed",    "expired"};

template <class Enum, std::size_t N>
Result<Enum> Parse(std::string_view what, std::string_view name,
                   const std::array<std::string_view, N>& names) {
  for (std::size_t at = 1; at < N; ++at)
    if (names[at] == name) return static_cast<Enum>(at);
  return Status(Code::kInvalidArgument,
                UnknownName(what, name, Candidates(names.begin() + 1, names.end())));
}

}  // namespace

std::string_view Name(v1::NodeActionKind kind) {
  return v1::NodeActionKind_IsValid(kind) ? kKinds[kind] : kKinds[0];
}
std::string_view Name(v1::NodeActionState state) {
  return v1::NodeActionState_IsValid(state) ? kStates[state] : kStates[0];
}

bool IsOpen(v1::NodeActionState state) {
  return state == v1::NODE_ACTION_STATE_PROPOSED || state == v1::NODE_ACTION_STATE_APPROVED ||
         state == v1::NODE_ACTION_STATE_APPLIED || state == v1::NODE_ACTION_STATE_REVERTING;
}

Result<v1::NodeActionKind> ParseNodeActionKind(std::string_view name) {
  return Parse<v1::NodeActionKind>("kind", name, kKinds);
}
Result<v1::NodeActionState> ParseNodeActionState(std::string_view name) {
  return Parse<v1::NodeActionState>("state", name, kStates);
}

std::string NodeActionText(const v1::NodeAction& action) {
  const std::string author =
      action.history().empty() ? std::string() : action.history().rbegin()->author();
  return Format("action {} {}{}: {} of {}: {}", action.id(), Name(action.state()),
                author.empty() ? "" : " by " + author, Name(action.kind()), action.node(),
                action.reason());
}

}  // namespace fabric
