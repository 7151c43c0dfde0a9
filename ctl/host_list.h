// Node lists in the syntax of schedulers: "n1,n2", "gpu[001-016,20]", "r[1-2]n[01-04]". Selectors
// of nodes by their labels, in the syntax of Kubernetes: "pool=h100,rack!=r12" (proto/labels.h).
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/options.h"
#include "base/status.h"
#include "ctl/client.h"
#include "ctl/command.h"

namespace fabric::ctl {

inline constexpr std::size_t kHostsMax = 65'536;

// Commas, blanks and newlines separate names; '#' starts a comment. A range keeps the leading zeros
// of its first number. Duplicates are removed; the order is kept. INVALID_ARGUMENT with a one-line
// message otherwise.
Result<std::vector<std::string>> ParseHostList(std::string_view text);

// An option or operand that takes nodes. It can be given several times.
constexpr Option HostsOption(std::string_view name, std::string_view doc, bool required = false) {
  return {
      .name = name, .value = "LIST|@FILE|-", .doc = doc, .required = required, .repeated = true};
}

// The same for one that also takes selectors.
constexpr Option NodesOption(std::string_view name, std::string_view doc, bool required = false) {
  Option option = HostsOption(name, doc, required);
  option.value = "LIST|SELECTOR|@FILE|-";
  return option;
}

// For commands with or without a NodesOption; NodesOf() reads it.
inline constexpr Option kSelectorOption = {
    .name = "selector",
    .value = "SELECTOR",
    .doc = "Only nodes with these labels: pool=h100,rack!=r12.",
    .letter = 'l',
    .repeated = true};

// The nodes of a HostsOption: lists, "@FILE" or "-" for standard input. Empty: not given. An error
// names the option and the file.
Result<std::vector<std::string>> HostsOf(const Values& values, std::string_view name);

// The nodes of a NodesOption, and of kSelectorOption if the command has it. A value with '=' or '!'
// is a selector: the names of all nodes that the controller knows and that it matches. NOT_FOUND
// for a label that no node has, and for a selector that matches no node: it never means all nodes.
Result<std::vector<std::string>> NodesOf(Client& client, const Values& values,
                                         std::string_view name);

// Keeps the elements whose node is one of `names`.
template <class Elements, class NameOf>
void KeepNodes(const std::vector<std::string>& names, NameOf name_of, Elements& elements) {
  const std::unordered_set<std::string> kept(names.begin(), names.end());
  elements.erase(std::remove_if(elements.begin(), elements.end(),
                                [&](const auto& element) {
                                  return !kept.contains(std::invoke(name_of, element));
                                }),
                 elements.end());
}

// Makes a call for each node. With one node, returns its failure. With several nodes, a failure is
// added to `output.failures` and the other nodes follow; those that follow a failure of the
// connection or of the identity of the caller are not tried, and one failure names them.
Status ForEachNode(const std::vector<std::string>& nodes, Output& output,
                   const std::function<Status(const std::string& node)>& call);

}  // namespace fabric::ctl
