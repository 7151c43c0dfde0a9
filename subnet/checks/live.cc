// Checks of what a reader of the subnet sees: devices that do not answer, link states, MTU, P_Keys.
#include <algorithm>
#include <set>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

bool HasMaster(const Subnet& subnet) {
  return std::ranges::find(subnet.managers(), ManagerState::kMaster, &Manager::state) !=
         subnet.managers().end();
}

void JudgeReadNow(const CheckInput& input, Verdicts& out) {
  if (!input.expected.not_read_now.empty()) return out.Unknown(input.expected.not_read_now);
  if (input.subnet().reading()) out.Pass();
}

void JudgeAnswers(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  if (!subnet.reading())
    return out.Unknown(Format("devices that do not answer: {}", kNeedsReading));
  for (const End end : subnet.reading()->silent)
    out.Fail({.subject = SubjectOf(subnet, end),
              .key = std::to_string(end.port),
              .title = Format("{}: the link is up, but the device behind it does not answer",
                              EndWords(subnet, end)),
              .what = "answers to NodeInfo",
              .expected = "1",
              .seen = "0",
              .remedies = {Advice("Reset the device behind this port. If the subnet has an M_Key, "
                                  "give it to the reader with --m-key-file.")}});
  out.Pass(subnet.nodes().size());
}

const char* StateWord(LinkState state) {
  return state == LinkState::kInit ? "INIT" : state == LinkState::kArmed ? "ARMED" : "ACTIVE";
}

bool IsWaiting(LinkState state) {
  return state == LinkState::kInit || state == LinkState::kArmed;
}

void JudgeActive(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  if (!subnet.reading()) return out.Unknown(Format("states of links: {}", kNeedsReading));
  if (!HasMaster(subnet)) return out.Unknown("a master: see subnet_one_master");
  for (const Cable& cable : subnet.Cables()) {
    const LinkState from = subnet.port(cable.from).state;
    const LinkState to = subnet.port(cable.to).state;
    if (!IsWaiting(from) && !IsWaiting(to)) {
      out.Pass();
      continue;
    }
    const LinkState seen = IsWaiting(from) ? from : to;
    out.Fail(
        {.subject = SubjectOf(subnet, cable),
         .key = std::to_string(cable.from.port),
         .title = Format("{}: {}, expected ACTIVE", CableWords(subnet, cable), StateWord(seen)),
         .what = "state of the link",
         .expected = "ACTIVE",
         .seen = StateWord(seen),
         .remedies =
             CableRemedies(subnet, cable, "Check the log of the subnet manager for this port.")});
  }
}

// MTU and data lanes of both ends.
void JudgeMtu(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  std::size_t unread = 0;
  for (const Cable& cable : subnet.Cables()) {
    const PortDetails* const from = subnet.DetailsOf(subnet.port(cable.from));
    const PortDetails* const to = subnet.DetailsOf(subnet.port(cable.to));
    if (from == nullptr || to == nullptr || from->mtu == 0 || to->mtu == 0) {
      ++unread;
      continue;
    }
    const bool lanes_differ = from->lanes != 0 && to->lanes != 0 && from->lanes != to->lanes;
    if (from->mtu == to->mtu && !lanes_differ) {
      out.Pass();
      continue;
    }
    const auto text = [](const PortDetails& end) {
      return Format("MTU {}, {}", end.mtu, Plural(end.lanes, "lane"));
    };
    out.Fail({.subject = SubjectOf(subnet, cable),
              .key = std::to_string(cable.from.port),
              .title = Format("{}: {} at one end, {} at the other", CableWords(subnet, cable),
                              text(*from), text(*to)),
              .what = "MTU and operational data lanes",
              .expected = text(*from),
              .seen = text(*to),
              .remedies = CableRemedies(subnet, cable,
                                        "Restart the link, so that the subnet manager sets both "
                                        "ends.")});
  }
  if (unread > 0) out.Unknown(Format("MTU of {}: {}", Plural(unread, "cable"), kNeedsReading));
}

constexpr std::uint16_t kFullMember = 0x8000;

// Keys of the adapter that its switch port would drop: it needs the same key, and a full member
// where the adapter is one.
std::vector<std::string> Blocked(const PortDetails& adapter, const PortDetails& port) {
  const std::set<std::uint16_t> permitted(port.p_keys->begin(), port.p_keys->end());
  std::vector<std::string> keys;
  for (const std::uint16_t key : *adapter.p_keys) {
    const bool full = permitted.contains(static_cast<std::uint16_t>(key | kFullMember));
    const bool limited = (key & kFullMember) == 0 && permitted.contains(key);
    if (!full && !limited) keys.push_back(Format("0x{:04x}", key));
  }
  return keys;
}

void JudgePKeys(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  std::size_t unread = 0;
  for (const Cable& cable : subnet.Cables()) {
    const bool from_switch = subnet.node(cable.from.node).type == NodeType::kSwitch;
    const End at_switch = from_switch ? cable.from : cable.to;
    const End at_adapter = from_switch ? cable.to : cable.from;
    if (subnet.node(at_switch.node).type != NodeType::kSwitch ||
        subnet.node(at_adapter.node).type != NodeType::kAdapter)
      continue;
    const PortDetails* const port = subnet.DetailsOf(subnet.port(at_switch));
    const PortDetails* const adapter = subnet.DetailsOf(subnet.port(at_adapter));
    if (port != nullptr && !port->enforces_partitions && port->mtu != 0) continue;
    if (port == nullptr || adapter == nullptr || !port->p_keys || !adapter->p_keys) {
      ++unread;
      continue;
    }
    const std::vector<std::string> blocked = Blocked(*adapter, *port);
    if (blocked.empty()) {
      out.Pass();
      continue;
    }
    out.Fail({.subject = SubjectOf(subnet, cable),
              .key = "",
              .title = Format("{}: the switch port blocks P_Key {} of the adapter",
                              CableWords(subnet, cable), ListSome(blocked, 4)),
              .what = "P_Keys of the adapter that its switch port permits",
              .expected = "all",
              .seen = Format("not {}", ListSome(blocked, 4)),
              .remedies = {Advice("Add the port GUID to the partition in the configuration of the "
                                  "subnet manager, and reload it.")}});
  }
  if (unread > 0) out.Unknown(Format("P_Keys of {}: {}", Plural(unread, "cable"), kNeedsReading));
}

}  // namespace

extern const Check subnet_read_now = {
    .id = "subnet_read_now",
    .title = "An agent reads the subnet",
    .severity = v1::SEVERITY_WARNING,
    .why = "Without an agent, the verdicts about the subnet are those of the last reading.",
    .judge = JudgeReadNow};

extern const Check subnet_nodes_answer = {
    .id = "subnet_nodes_answer",
    .title = "Each device behind a link that is up answers management packets",
    .severity = v1::SEVERITY_ERROR,
    .why = "The subnet manager cannot configure a device that does not answer.",
    .judge = JudgeAnswers};

extern const Check subnet_links_active = {
    .id = "subnet_links_active",
    .title = "Each link is ACTIVE",
    .severity = v1::SEVERITY_ERROR,
    .why = "A link in state INIT or ARMED transports no data: the subnet manager did not finish.",
    .judge = JudgeActive};

extern const Check subnet_mtu_equal = {
    .id = "subnet_mtu_equal",
    .title = "Both ends of a link have one MTU and the same data lanes",
    .severity = v1::SEVERITY_ERROR,
    .why = "A port drops packets that are larger than its MTU, or on a lane that it does not use.",
    .judge = JudgeMtu};

extern const Check subnet_p_keys_match = {
    .id = "subnet_p_keys_match",
    .title = "A switch port permits the P_Keys of its adapter",
    .severity = v1::SEVERITY_ERROR,
    .why = "A switch port that enforces partitions drops packets with other P_Keys.",
    .judge = JudgePKeys};

}  // namespace fabric::subnet
