#include "tests/unit/rules/safe_remedies.h"

#include <algorithm>
#include <regex>

#include "base/text.h"
#include "daemon/rules/remedies.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using Mistakes = std::vector<std::string>;

// Values that no rule knows.
constexpr std::string_view kOperatorsChoice[] = {"ADDRESS/PREFIX"};

bool Contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

void CheckEffects(const v1::Remedy& remedy, Mistakes& out) {
  if (remedy.affects() == v1::REMEDY_REACH_UNSPECIFIED) out.emplace_back("affects not stated");
  if (remedy.interrupts_traffic() == remedy.interrupts().empty())
    out.emplace_back("interrupts_traffic does not match interrupts");
  if (remedy.affects() == v1::REMEDY_REACH_NOTHING) {
    if (remedy.interrupts_traffic()) out.emplace_back("a query that interrupts traffic");
    return;
  }
  if (remedy.persistence() == v1::REMEDY_PERSISTENCE_UNSPECIFIED)
    out.emplace_back("persistence not stated");
  if (remedy.persistence() == v1::REMEDY_PERSISTENCE_UNTIL_REBOOT && remedy.persist().empty())
    out.emplace_back("not stated how to make it permanent");
  if (remedy.undo().empty()) out.emplace_back("undo not stated");
}

void CheckPlaceholders(std::string command, Mistakes& out) {
  for (const std::string_view choice : kOperatorsChoice)
    for (std::size_t at; (at = command.find(choice)) != std::string::npos;)
      command.replace(at, choice.size(), "X");
  static const std::regex kPlaceholder(
      R"((^|[\s/=:])(NETDEV|DEVICE|HCA|LID|PORT|PF|N|ADDRESS|PREFIX|PEER|GUID|NAME|NEW|OLD|MAC|)"
      R"(BRIDGE|FIRMWARE|IMAGE|DSCP|TC|PRIORITY|BYTES|METRES)($|[\s/=:,]))");
  static const std::regex kAngles(R"(<[A-Za-z_-]+>|\.\.\.)");
  std::smatch found;
  if (std::regex_search(command, found, kPlaceholder))
    out.push_back(Format("placeholder {}", found.str(2)));
  if (std::regex_search(command, found, kAngles))
    out.push_back(Format("placeholder {}", found.str()));
  // An empty name leaves two blanks, or an option without its value.
  if (Contains(command, "  ") || Contains(command, "dev  ") || Contains(command, "-i  ") ||
      command.ends_with(" dev") || command.ends_with(" "))
    out.emplace_back("empty name");
}

// Every tool of infiniband-diags names the device and the port.
void CheckInfiniband(const std::string& command, Mistakes& out) {
  static const std::regex kTool(
      R"(\b(sminfo|perfquery|smpquery|ibportstate|iblinkinfo|ibqueryerrors|saquery)\b([^;&|]*))");
  static const std::regex kThrough(R"(^ -C \S+ -P [0-9]+)");
  for (std::sregex_iterator at(command.begin(), command.end(), kTool), end; at != end; ++at)
    if (!std::regex_search(at->str(2), kThrough))
      out.push_back(Format("{} without -C DEVICE -P PORT", at->str(1)));
  static const std::regex kIbstat(R"(\bibstat( +\S+ [0-9]+)?)");
  for (std::sregex_iterator at(command.begin(), command.end(), kIbstat), end; at != end; ++at)
    if (!(*at)[1].matched) out.emplace_back("ibstat without device and port");
}

const v1::NodeSnapshot* Find(const std::vector<v1::NodeSnapshot>& nodes, const std::string& name) {
  for (const v1::NodeSnapshot& node : nodes)
    if (node.node().name() == name) return &node;
  return nullptr;
}

// The device of the subject, or a netdev that the command names, is of NVIDIA.
bool HasMellanox(const v1::NodeSnapshot& node, const v1::Subject& subject,
                 const std::string& command) {
  const auto& devices = node.rdma_devices();
  const auto& netdevs = node.net_interfaces();
  return std::any_of(devices.begin(), devices.end(),
                     [&](const v1::RdmaDevice& device) {
                       return (subject.device().empty() || device.name() == subject.device()) &&
                              device.driver().starts_with("mlx");
                     }) ||
         std::any_of(netdevs.begin(), netdevs.end(), [&](const v1::NetInterface& netdev) {
           return netdev.driver().starts_with("mlx") && Contains(command, netdev.name());
         });
}

void CheckDriver(const v1::NodeSnapshot& node, const v1::Subject& subject, const v1::Remedy& remedy,
                 Mistakes& out) {
  static const std::regex kMellanox(
      R"(\b(mlnx_qos|mlxlink|mlxconfig|mlxfwreset|mlxfwmanager|mget_temp|mst|flint|)"
      R"(cma_roce_\w+)\b)");
  std::smatch found;
  if (HasMellanox(node, subject, remedy.command()) ||
      !std::regex_search(remedy.command(), found, kMellanox))
    return;
  out.push_back(Format("{} for a card of another vendor", found.str()));
}

void CheckPlatform(const v1::NodeSnapshot& node, const std::string& command, Mistakes& out) {
  if (IsDebian(node) && (Contains(command, "grubby") || Contains(command, "dnf ")))
    out.emplace_back("a Red Hat command on Debian");
  if (IsRedHat(node) && (Contains(command, "update-grub") || Contains(command, "apt")))
    out.emplace_back("a Debian command on Red Hat");
  if (IsArm(node) && (Contains(command, "iommu=pt") || Contains(command, "intel_iommu") ||
                      Contains(command, "amd_iommu")))
    out.emplace_back("a parameter of x86 on arm64");
}

Mistakes MistakesOf(const v1::Finding& finding, const v1::Remedy& remedy,
                    const std::vector<v1::NodeSnapshot>& nodes) {
  Mistakes out;
  if (remedy.command().empty()) {
    if (remedy.note().empty()) out.emplace_back("neither command nor note");
    if (remedy.interrupts_traffic()) out.emplace_back("advice that interrupts traffic");
    return out;
  }
  CheckEffects(remedy, out);
  CheckPlaceholders(remedy.command(), out);
  CheckPlaceholders(remedy.undo(), out);
  CheckInfiniband(remedy.command(), out);
  if (Contains(remedy.command(), "address flush")) out.emplace_back("removes all addresses");
  if (Contains(remedy.command(), "dcb buffer set")) out.emplace_back("stops the driver's buffers");
  if (remedy.host().empty()) out.emplace_back("host not stated");
  if (const v1::NodeSnapshot* const node = Find(nodes, remedy.host())) {
    CheckDriver(*node, finding.subject(), remedy, out);
    CheckPlatform(*node, remedy.command(), out);
  } else if (!remedy.host().starts_with("switch ") && remedy.host() != "the subnet manager") {
    out.emplace_back("unknown host " + remedy.host());
  }
  return out;
}

}  // namespace

std::vector<std::string> RemedyMistakes(const v1::Finding& finding,
                                        const std::vector<v1::NodeSnapshot>& nodes) {
  std::vector<std::string> lines;
  for (const v1::Remedy& remedy : finding.remedies())
    for (const std::string& mistake : MistakesOf(finding, remedy, nodes))
      lines.push_back(Format("{} {}: {}: '{}', undo '{}'", finding.rule(),
                             SubjectName(finding.subject()), mistake, remedy.command(),
                             remedy.undo()));
  return lines;
}

}  // namespace fabric::rules
