// Pluggable modules, and temperatures of cards and modules.
#include <algorithm>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"
#include "proto/ports.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

const v1::Module* ModuleOf(const PortView& port) {
  return port.wire != nullptr && port.wire->has_module() ? &port.wire->module() : nullptr;
}

std::string ModuleSource(std::string_view netdev) {
  return Format("netlink ethtool module {}", netdev);
}

// The netdevs with modules that the port uses: its own, or all members of its bond.
std::vector<const v1::NetInterface*> NetdevsWithModules(const PortView& port) {
  std::vector<const v1::NetInterface*> netdevs;
  if (port.netdev != nullptr)
    for (const std::string& name : port.netdev->bond().members())
      if (const v1::NetInterface* const member = FindNetdev(port.node->snapshot, name))
        if (member->has_module()) netdevs.push_back(member);
  if (netdevs.empty() && ModuleOf(port) != nullptr) netdevs.push_back(port.wire);
  return netdevs;
}

bool IsModuleJudged(const PortView& port) {
  return port.rail && IsUp(port) && !port.expected().unused();
}

// module_within_limits

// A value of a module that is outside the module's own limits.
struct OutOfLimits {
  std::string what;
  double seen = 0;
  double limit = 0;
  bool above = false;
  std::string_view unit;
};

void CheckValue(double value, const v1::SensorLimits& limits, std::string what,
                std::string_view unit, std::vector<OutOfLimits>& out) {
  if (!limits.has_alarm_high()) return;
  if (value > limits.alarm_high())
    out.push_back({std::move(what), value, limits.alarm_high(), true, unit});
  else if (value < limits.alarm_low())
    out.push_back({std::move(what), value, limits.alarm_low(), false, unit});
}

// A module may have more lanes than the link. Lanes without light are faults only if fewer good
// lanes remain than the link has.
void CheckReceivers(const v1::Module& module, std::uint32_t link_lanes,
                    std::vector<OutOfLimits>& out) {
  std::vector<OutOfLimits> bad;
  std::uint32_t good = 0;
  for (const v1::ModuleLane& lane : module.lanes()) {
    if (!lane.has_rx_power_milliwatts() || !module.has_rx_power_limits()) continue;
    const std::size_t before = bad.size();
    CheckValue(lane.rx_power_milliwatts(), module.rx_power_limits(),
               Format("receive power of lane {}", lane.lane()), "mW", bad);
    if (bad.size() == before) ++good;
  }
  if (good < std::max<std::uint32_t>(link_lanes, 1)) out.insert(out.end(), bad.begin(), bad.end());
}

std::vector<OutOfLimits> ValuesOutOfLimits(const PortView& port, const v1::NetInterface& netdev) {
  const v1::Module& module = netdev.module();
  std::vector<OutOfLimits> out;
  if (module.has_temperature_celsius()) {
    v1::SensorLimits limits = module.temperature_limits();
    if (port.expected().has_module_temperature_max_celsius()) {
      limits.set_alarm_high(port.expected().module_temperature_max_celsius());
      if (!limits.has_alarm_low()) limits.set_alarm_low(-273.15);
    }
    CheckValue(module.temperature_celsius(), limits, "temperature", "degrees Celsius", out);
  }
  if (module.has_voltage_volts())
    CheckValue(module.voltage_volts(), module.voltage_limits(), "supply voltage", "V", out);
  CheckReceivers(module, netdev.lanes(), out);
  return out;
}

void FailModule(const PortView& port, const v1::NetInterface& netdev,
                const std::vector<OutOfLimits>& values, Verdicts& out) {
  const v1::Module& module = netdev.module();
  const bool member = netdev.has_bond_member();
  std::vector<std::string> seen;
  std::vector<v1::Evidence> evidence;
  for (const OutOfLimits& value : values) {
    const std::string expected =
        Format("{} {:.4g} {}", value.above ? "at most" : "at least", value.limit, value.unit);
    seen.push_back(
        Format("{} {:.4g} {}, expected {}", value.what, value.seen, value.unit, expected));
    evidence.push_back(ToEvidence(
        *port.node,
        {.what = Format("{} of module {} {}", value.what, module.vendor(), module.part_number()),
         .expected = expected,
         .seen = Format("{:.4g} {}", value.seen, value.unit),
         .source = ModuleSource(netdev.name()),
         .basis =
             port.expected().has_module_temperature_max_celsius() && value.what == "temperature"
                 ? ProfileBasis(*port.expectation)
                 : "limits of the module"}));
  }
  out.Fail(port.Subject(),
           Format("module{}: {}", member ? Format(" of {}", netdev.name()) : "", Listed(seen)),
           std::move(evidence),
           {Query({.command = Format("ethtool -m {}", netdev.name()),
                   .note = "Low receive power: clean and reseat the connector, then check the "
                           "module at the other end and the fibre. Temperature: check fans and "
                           "airflow. Then replace the module."})},
           member ? std::string_view(netdev.name()) : std::string_view());
}

void JudgeModuleLimits(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!IsModuleJudged(port)) continue;
    for (const v1::NetInterface* const netdev : NetdevsWithModules(port)) {
      const std::vector<OutOfLimits> values = ValuesOutOfLimits(port, *netdev);
      if (!values.empty())
        FailModule(port, *netdev, values, out);
      else if (netdev->module().has_temperature_celsius())
        out.Pass();
    }
  }
}

// module_kind_equal_on_rail

// Part numbers of all modules of the port, each once.
std::set<std::string_view> PartsOf(const PortView& port) {
  std::set<std::string_view> parts;
  for (const v1::NetInterface* const netdev : NetdevsWithModules(port))
    if (netdev->module().has_part_number()) parts.insert(netdev->module().part_number());
  return parts;
}

bool IsBond(const PortView& port) {
  return port.netdev != nullptr && port.netdev->has_bond();
}

// A profile expects one part in all members of a bond: the first other one counts. Without a
// profile, the parts of bonds are compared as sets.
std::optional<Value> PartOf(const Member& member) {
  const std::set<std::string_view> parts = PartsOf(*member.port);
  if (parts.empty()) return {};
  const v1::Expectations& expected = member.expectation().values;
  if (expected.has_module_part_number()) {
    const auto other = std::ranges::find_if(
        parts, [&](std::string_view part) { return part != expected.module_part_number(); });
    return Value{.text = other != parts.end() ? *other : *parts.begin()};
  }
  return IsBond(*member.port) ? std::nullopt : std::optional(Value{.text = *parts.begin()});
}

std::optional<Value> PartsOfBond(const Member& member) {
  if (!IsBond(*member.port) || member.expectation().values.has_module_part_number()) return {};
  const std::vector<const v1::NetInterface*> netdevs = NetdevsWithModules(*member.port);
  const bool known = std::ranges::all_of(
      netdevs, [](const auto* netdev) { return netdev->module().has_part_number(); });
  if (!known || std::ssize(netdevs) != member.port->netdev->bond().members_size()) return {};
  const std::set<std::string_view> parts = PartsOf(*member.port);
  std::uint64_t hash = kFnvOffset;
  for (const std::string_view part : parts) hash = FnvStep(Fnv(part, hash), 0);
  return Value{hash};
}

std::string ShowParts(const Member& member, const Member&) {
  const std::set<std::string_view> parts = PartsOf(*member.port);
  return Listed({parts.begin(), parts.end()});
}

std::vector<v1::Remedy> ShowModulesOfBond(const Member& member, const Value&) {
  std::vector<v1::Remedy> remedies;
  for (const v1::NetInterface* const netdev : NetdevsWithModules(*member.port))
    remedies.push_back(Query({.command = Format("ethtool -m {}", netdev->name()),
                              .note = "Another kind of cable or module may have another length, "
                                      "error rate or FEC. Replace it when the link has errors."}));
  return remedies;
}

constexpr EqualityRule kModuleKinds[] = {
    {.what = "module",
     .group = ByRailAndModel,
     .value = PartOf,
     .expected = [](const v1::Expectations& expected) -> std::optional<Value> {
       if (!expected.has_module_part_number()) return {};
       return Value{.text = expected.module_part_number()};
     },
     .kept_when_down = true,
     .show = ShowText,
     .source = [](const Member& member) { return ModuleSource(WireName(*member.port)); },
     .remedies = [](const Member& member, const Value& expected) -> std::vector<v1::Remedy> {
       return {Query({.command = Format("ethtool -m {}", WireName(*member.port)),
                      .note = Format("Expected part {}. Another kind of cable or module may have "
                                     "another length, error rate or FEC. Replace it when the link "
                                     "has errors.",
                                     expected.text)})};
     }},
    {.what = "modules of the bond",
     .key = "bond",
     .group = ByRailAndModel,
     .value = PartsOfBond,
     .kept_when_down = true,
     .show_difference = ShowParts,
     .source = [](const Member& member) { return ModuleSource(WireName(*member.port)); },
     .remedies = ShowModulesOfBond}};

// card_temperature_within_limit

// The limit at which the card or module acts: critical, else maximum.
std::optional<double> LimitOf(const v1::Sensor& sensor) {
  if (sensor.has_critical_celsius() && sensor.critical_celsius() > 0)
    return sensor.critical_celsius();
  if (sensor.has_max_celsius() && sensor.max_celsius() > 0) return sensor.max_celsius();
  return {};
}

void FailSensor(const PortView& port, const v1::Sensor& sensor, double limit, Verdicts& out) {
  const std::string name = sensor.has_label() ? sensor.label() : sensor.name();
  const std::string expected = Format("below {:.4g} degrees Celsius", limit);
  const std::string seen = Format("{:.4g} degrees Celsius", sensor.temperature_celsius());
  out.Fail(DeviceSubject(port),
           Format("sensor {} of {}: {}, expected {}", name, port.device->name(), seen, expected),
           {ToEvidence(*port.node, {.what = "temperature of sensor " + name,
                                    .expected = expected,
                                    .seen = seen,
                                    .source = PciFile(port.device->pci_address(), "hwmon"),
                                    .basis = "limit of the sensor"})},
           {Query({.command = "sensors",
                   .note = "Check fans, blanking panels and airflow of the node. A module of "
                           "higher power class needs more air than the slot may have."})},
           name);
}

void JudgeSensors(const fleet::NodeView& node, Verdicts& out) {
  std::string_view last;
  for (const PortView& port : node.ports) {
    const v1::PciFunction* const function = FunctionOf(port);
    if (!port.rail || function == nullptr || port.device->name() == last) continue;
    last = port.device->name();
    for (const v1::Sensor& sensor : function->sensors()) {
      const auto limit = LimitOf(sensor);
      if (!limit || !sensor.has_temperature_celsius()) continue;
      if (sensor.temperature_celsius() >= *limit)
        FailSensor(port, sensor, *limit, out);
      else
        out.Pass();
    }
  }
}

}  // namespace

extern const Rule module_within_limits = {
    .id = "module_within_limits",
    .title = "Temperature, voltage and receive power of a module are within its own limits",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Modules store the limits beyond which they do not work reliably. Low receive power means "
        "a dirty connector, a bent fibre or a failing sender, and a hot module has bit errors and "
        "then switches itself off. Reading the module needs CAP_NET_ADMIN.",
    .source = "SFF-8472, SFF-8636, CMIS (alarm thresholds); kernel net/ethtool/eeprom.c",
    .needs = {Input::kModules},
    .profile = {v1::Expectations::kModuleTemperatureMaxCelsiusFieldNumber},
    .reads = {{.field = Field::kModule,
               .applies = IsRoceHardware,
               .profile = v1::Expectations::kModuleTemperatureMaxCelsiusFieldNumber}},
    .fix = "Clean the connector, check the airflow, replace the module",
    .evaluate_node = JudgeModuleLimits,
};

extern const Rule module_kind_equal_on_rail = {
    .id = "module_kind_equal_on_rail",
    .title = "Modules and cables are the profile's, else the same on ports of one rail and card",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_PORT,
    .why =
        "A rail is cabled in one way. Another kind of module is often a spare that was at hand: "
        "with another length, error rate or FEC, or not qualified for the switch.",
    .source = "SFF-8472, SFF-8636, CMIS (vendor part number); kernel net/ethtool/eeprom.c",
    .needs = {Input::kModules},
    .profile = {v1::Expectations::kModulePartNumberFieldNumber},
    .reads = {{.field = Field::kModule,
               .applies = IsRoceHardware,
               .profile = v1::Expectations::kModulePartNumberFieldNumber}},
    .fix = "The same kind of module on all nodes of the rail",
    .equality_rules = kModuleKinds,
};

extern const Rule card_temperature_within_limit = {
    .id = "card_temperature_within_limit",
    .title = "No sensor of an RDMA card or its module is at its critical temperature",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "At the critical temperature the card protects itself: it lowers its speed, switches the "
        "module off or shuts down. All connections on it break.",
    .source = "kernel Documentation/hwmon/sysfs-interface.rst; mlx5/core/hwmon.c",
    .needs = {Input::kSensors},
    .reads = {{.field = Field::kSensors, .applies = IsHardware}},
    .fix = "Check the cooling of the node",
    .evaluate_node = JudgeSensors,
};

}  // namespace fabric::rules
