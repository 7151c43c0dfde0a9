#include "agents/inspect/attributes.h"
#include "agents/inspect/parse.h"
#include "base/ids.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kName = "gpus";
constexpr const char* kDevices = "sys/bus/pci/devices";

struct GpuClass {
  std::uint32_t vendor;
  std::uint32_t device_class;  // Base class and subclass, without the programming interface
};

constexpr GpuClass kGpuClasses[] = {
    {0x10de, 0x0302},  // NVIDIA, 3D controller: what data centres have
    {0x10de, 0x0300},  // NVIDIA, VGA
    {0x1002, 0x1200},  // AMD Instinct, processing accelerator
    {0x1002, 0x0380},  // AMD Instinct, display controller
    {0x1da3, 0x1200},  // Habana Gaudi
};

bool IsGpu(std::uint32_t vendor, std::uint32_t class_code) {
  for (const auto& row : kGpuClasses)
    if (row.vendor == vendor && row.device_class == class_code >> 8) return true;
  return false;
}

std::optional<std::uint32_t> Hex(const Dir& dir, const std::string& name) {
  const Result<std::string> text = dir.Text(name);
  if (!text.ok()) return std::nullopt;
  const auto value = ParseHex(*text);
  return value.ok() ? std::optional(*value) : std::nullopt;
}

Result<std::int32_t> ParseNode(std::string_view text) {
  return ParseNumber<std::int32_t>(text);
}

void InspectFunction(const Attributes& files, const std::string& address, v1::NodeSnapshot& out) {
  // Nearly every function is something else: looked at without gaps.
  const auto vendor = Hex(files.dir(), "vendor");
  const auto class_code = Hex(files.dir(), "class");
  if (!vendor || !class_code) {
    files.Gap(vendor ? "class" : "vendor",
              Status(Code::kInvalidArgument, "expected a hexadecimal number"));
    return;
  }
  // A virtual function counts only where the function it belongs to is out of sight.
  if (!IsGpu(*vendor, *class_code) || files.dir().Has("physfn")) return;
  v1::Gpu& gpu = *out.add_gpus();
  gpu.set_pci_address(address);
  gpu.set_vendor_id(Format("{:04x}", *vendor));
  if (auto device = files.Parsed("device", ParseHex)) gpu.set_device_id(Format("{:04x}", *device));
  if (const auto driver = files.dir().LinkName("driver"); driver.ok() && IsPlainName(*driver))
    gpu.set_driver(*driver);
  else if (const auto uevent = files.dir().Text("uevent"); uevent.ok())
    if (const auto name = UeventValue(*uevent, "DRIVER"); IsPlainName(name))
      gpu.set_driver(std::string(name));
  if (auto node = files.Parsed("numa_node", ParseNode); node && *node >= 0)
    gpu.set_numa_node(*node);
}

Status InspectGpus(const Host& host, v1::NodeSnapshot& out) {
  const Gaps all{.snapshot = out, .inspector = kName, .subject = ""};
  ASSIGN_OR_RETURN(const std::vector<std::string> names, PlainNames(host, kDevices, all));
  for (const std::string& name : names) {
    const Gaps gaps{.snapshot = out, .inspector = kName, .subject = name};
    const std::string path = Format("{}/{}", kDevices, name);
    const auto address = ParsePciAddress(name);
    const Result<Attributes> files = Attributes::Open(host, path, gaps);
    if (!address.ok())
      all.Add(path, address.status());
    else if (!files.ok())
      gaps.Add(path, files.status());
    else
      InspectFunction(*files, ToString(*address), out);
  }
  return {};
}

}  // namespace

extern const Inspector gpus = {
    .name = kName,
    .doc = "GPUs by a scan of PCI, with driver and NUMA node.",
    .inspect = InspectGpus,
};

}  // namespace fabric::inspect
