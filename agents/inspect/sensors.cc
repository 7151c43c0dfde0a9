#include <set>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/parse.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kSensorsName = "sensors";
constexpr std::string_view kInputSuffix = "_input";

// Documentation/hwmon/sysfs-interface.rst: thousandths of a degree. Sensors without a value answer
// with an error, which is a gap.
std::optional<double> Celsius(const Attributes& files, const std::string& name, Absence absence) {
  const auto value = files.Parsed(
      name, [](std::string_view text) { return ParseNumber<std::int32_t>(Trim(text)); }, absence);
  if (!value) return {};
  return static_cast<double>(*value) / 1000;
}

void ReadSensor(const Attributes& files, const std::string& name, v1::PciFunction& function) {
  const auto celsius = Celsius(files, name + std::string(kInputSuffix), Absence::kIsGap);
  if (!celsius) return;
  v1::Sensor& sensor = *function.add_sensors();
  sensor.set_name(name);
  sensor.set_temperature_celsius(*celsius);
  const auto limit = [&](const char* suffix) {
    return Celsius(files, name + suffix, Absence::kMissingOrEmptyIsFine);
  };
  if (const auto value = limit("_highest")) sensor.set_highest_celsius(*value);
  if (const auto value = limit("_max")) sensor.set_max_celsius(*value);
  if (const auto value = limit("_crit")) sensor.set_critical_celsius(*value);
  if (const auto value = limit("_emergency")) sensor.set_emergency_celsius(*value);
  if (const auto label = files.Text(name + "_label", Absence::kMissingOrEmptyIsFine))
    sensor.set_label(*label);
}

// The numbers of hwmon directories change with each boot; a card has one.
void ReadFunction(const Host& host, const Gaps& gaps, v1::PciFunction& function) {
  const std::string directory = Format("sys/bus/pci/devices/{}/hwmon", function.address());
  const Result<Dir> dir = host.root.Sub(directory);
  const auto monitors = dir.ok() ? dir->Names() : Result<std::vector<std::string>>(dir.status());
  if (!monitors.ok()) {
    if (monitors.status().code() != Code::kNotFound) gaps.Add(directory, monitors.status());
    return;
  }
  for (const std::string& monitor : *monitors) {
    if (!IsPlainName(monitor)) continue;
    const auto files = Attributes::Open(host, directory + "/" + monitor, gaps);
    if (!files.ok()) continue;
    const Result<std::vector<std::string>> names = files->dir().Names();
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>())
      if (name.starts_with("temp") && name.ends_with(kInputSuffix))
        ReadSensor(*files, name.substr(0, name.size() - kInputSuffix.size()), function);
  }
}

Status InspectSensors(const Host& host, v1::NodeSnapshot& out) {
  std::set<std::string> cards;
  for (const v1::RdmaDevice& device : out.rdma_devices())
    if (device.has_pci_address() && (device.function().kind() == v1::FUNCTION_KIND_PHYSICAL ||
                                     device.function().kind() == v1::FUNCTION_KIND_BOND))
      cards.insert(device.pci_address());
  for (v1::PciFunction& function : *out.mutable_pci_functions())
    if (cards.contains(function.address()))
      ReadFunction(host,
                   {.snapshot = out, .inspector = kSensorsName, .subject = function.address()},
                   function);
  return {};
}

}  // namespace

extern const Inspector sensors = {
    .name = kSensorsName,
    .doc = "Temperatures of RDMA cards and their modules, with limits, from hwmon.",
    .inspect = InspectSensors,
    .wakes = EventKind::kRdma | EventKind::kHotplug | EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kPciFunctionsFieldNumber},
};

}  // namespace fabric::inspect
