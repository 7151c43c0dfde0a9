#include <algorithm>
#include <utility>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/remedy.h"
#include "daemon/rules/rule.h"
#include "proto/timestamps.h"

namespace fabric::rules {
namespace {

// node_connected

v1::Evidence AgentEvidence(const fleet::NodeRecord& node, Fact fact) {
  v1::Evidence evidence = ToEvidence(node, std::move(fact));
  *evidence.mutable_read_at() = ToProto(node.state_since.wall);
  return evidence;
}

void JudgeConnection(const fleet::NodeRecord& node, Verdicts& out) {
  const bool lost = node.state == v1::NODE_STATE_LOST;
  const std::string since =
      ToString(ToProto(lost ? node.state_since.wall : node.inspected_at.wall));
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_NODE);
  subject.set_node(node.name);
  std::vector<v1::Evidence> evidence = {AgentEvidence(
      node, {.what = lost ? "connection of the agent" : "settings of the node",
             .expected = lost ? "connected" : "reported at least once a minute",
             .seen = lost ? Format("lost since {}", since) : Format("not reported since {}", since),
             .source = "session of the agent",
             .basis = "rule"})};
  if (lost)
    evidence.push_back(AgentEvidence(node, {.what = "reason of the loss",
                                            .expected = "",
                                            .seen = node.lost_reason,
                                            .source = "session of the agent",
                                            .basis = "rule"}));
  evidence.push_back(AgentEvidence(node, {.what = "last report",
                                          .expected = "",
                                          .seen = ToString(ToProto(node.reported_at.wall)),
                                          .source = "session of the agent",
                                          .basis = "rule"}));
  out.Fail(
      std::move(subject),
      lost ? Format("node is lost since {}: {}; its configuration is not checked", since,
                    node.lost_reason)
           : Format("agent has reported no settings since {}; the node is not checked", since),
      std::move(evidence),
      {Query({.command = "systemctl status fabric-agent; journalctl -u fabric-agent -n 50",
              .note =
                  "Shows why the agent ended or cannot reach the controller: name, port 9418, "
                  "firewall. 'did not return' means that a driver blocks the inspection. If the "
                  "node does not answer, check its power and console (ipmitool chassis status).",
              .host = node.name}),
       Advice(Format("If the node has left the cluster for good: fabricctl node remove {}",
                     node.name))});
}

// rdma_device_present

// rdma_card_has_driver and rdma_card_has_device judge these.
bool IsCardJudged(const v1::PciFunction& card) {
  return !card.has_driver() || card.driver() == "mlx5_core" || card.driver() == "mlx4_core" ||
         card.driver() == "hfi1";
}

// The RDMA module that belongs to the Ethernet driver of a card. Empty: none, or not known.
std::string_view RdmaModuleOf(const v1::PciFunction& card) {
  constexpr std::pair<std::string_view, std::string_view> kModules[] = {
      {"bnxt_en", "bnxt_re"}, {"ice", "irdma"},          {"i40e", "irdma"},     {"idpf", "irdma"},
      {"qede", "qedr"},       {"ionic", "ionic_rdma"},   {"cxgb4", "iw_cxgb4"}, {"mana", "mana_ib"},
      {"be2net", "ocrdma"},   {"hns3", "hns_roce_hw_v2"}};
  for (const auto& [driver, module] : kModules)
    if (card.driver() == driver) return module;
  return {};
}

// RDMA drivers of the cards that are not loaded. Only where the list of modules has the driver of
// the Ethernet side: it may be of another machine, or not readable.
std::vector<std::string> ModulesNotLoaded(const v1::NodeSnapshot& snapshot) {
  const auto is_loaded = [&](std::string_view name) {
    return std::ranges::any_of(snapshot.host().modules(), [&](const v1::KernelModule& module) {
      return module.name() == name;
    });
  };
  std::vector<std::string> missing;
  for (const v1::PciFunction& card : snapshot.pci_functions()) {
    const std::string_view module = IsNetworkAdapter(card) ? RdmaModuleOf(card) : "";
    if (module.empty() || !is_loaded(card.driver()) || is_loaded(module)) continue;
    if (std::ranges::find(missing, module) == missing.end()) missing.emplace_back(module);
  }
  return missing;
}

std::vector<v1::Remedy> FindDevices(const std::vector<std::string>& not_loaded) {
  std::vector<v1::Remedy> remedies;
  for (const std::string& module : not_loaded) remedies.push_back(LoadModule(module));
  remedies.push_back(
      Query({.command = "lspci -nnk -d ::0200; lspci -nnk -d ::0207",
             .note = "A card that lspci does not show is dead or not seated. A card without "
                     "'Kernel driver in use' has no driver."}));
  remedies.push_back(
      Query({.command = "dmesg -T | grep -iE 'mlx|bnxt|irdma|ionic|efa|infiniband'",
             .note = "Shows why a driver did not register its RDMA device. RDMA modules: "
                     "mlx5_ib, bnxt_re, irdma, ionic_rdma, efa."}));
  return remedies;
}

void JudgeDevicePresence(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (!snapshot.rdma_devices().empty()) return out.Pass();
  if (node.expected().fabric_ports() > 0) return;  // fabric_port_count_equal fails.
  std::vector<std::string> cards;
  for (const v1::PciFunction& function : snapshot.pci_functions()) {
    if (!IsNetworkAdapter(function) || function.has_physical_function()) continue;
    if (IsCardJudged(function)) return;
    cards.push_back(function.address());
  }
  const auto evidence = [&](std::string seen, std::string basis, bool unread = false) {
    return ToEvidence(*node.node, {.what = "RDMA devices",
                                   .expected = "at least one",
                                   .seen = std::move(seen),
                                   .source = "sys/class/infiniband",
                                   .basis = std::move(basis),
                                   .unread = unread});
  };
  if (const std::string why = DevicesUnknown(snapshot); !why.empty())
    return out.Unknown(SubjectOf(node), Format("RDMA devices could not be read: {}", why),
                       {evidence("not readable: " + why, "rule", true)});
  if (!node.missing_cards.empty()) return;  // fabric_card_present fails.
  const std::vector<std::string> not_loaded = ModulesNotLoaded(snapshot);
  const std::string with_cards =
      cards.empty() ? "no RDMA card"
                    : Format("RDMA card {}{}", Listed(cards),
                             not_loaded.empty() ? std::string()
                                                : Format(" without module {}", Listed(not_loaded)));
  if (snapshot.gpus().empty())
    return out.Unknown(
        SubjectOf(node),
        Format("no RDMA device, no GPU, {}: rules about RDMA do not apply", with_cards),
        {evidence("none", "no profile expects one")});
  const std::string basis = Format("{} GPU{}, {}", snapshot.gpus_size(),
                                   snapshot.gpus_size() == 1 ? "" : "s", with_cards);
  out.Fail(SubjectOf(node), Format("no RDMA device, expected at least one ({})", basis),
           {evidence("none", basis)}, FindDevices(not_loaded));
}

}  // namespace

extern const Rule node_connected = {
    .id = kNodeConnected,
    .title = "Each node is connected and reports its settings",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "A node that does not report may be down, hung or cut off. Rules cannot judge it, so that "
        "its faults stay unnoticed and jobs on it fail.",
    .source = "the agent's session; settings lost-after and settings-age-max of fabricd",
    .fix = "systemctl status fabric-agent on the node; check the network to the controller",
    .evaluate_unjudged = JudgeConnection,
};

extern const Rule rdma_device_present = {
    .id = "rdma_device_present",
    .title = "A node with GPUs has an RDMA device",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "Without an RDMA device, all other rules about RDMA skip the node, and jobs use TCP. The "
        "card fell off the bus, or its driver did not start.",
    .source = "kernel Documentation/ABI/stable/sysfs-class-infiniband",
    .needs = {Input::kRdmaDevices, Input::kPciFunctions, Input::kGpus, Input::kRdmaStack},
    .profile = {v1::Expectations::kFabricPortsFieldNumber},
    .fix = "lspci, dmesg; load the RDMA module of the card",
    .evaluate_node = JudgeDevicePresence,
};

}  // namespace fabric::rules
