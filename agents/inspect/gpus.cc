#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/pci_place.h"
#include "agents/inspect/report/pci_text.h"
#include "base/ids.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kGpusName = "gpus";
constexpr const char* kNvidiaGpus = "proc/driver/nvidia/gpus";

struct GpuClass {
  std::uint32_t vendor;
  std::uint32_t device_class;  // Base class and subclass, without the programming interface
  std::string_view vendor_name;
};

constexpr GpuClass kGpuClasses[] = {
    {0x10de, 0x0302, "NVIDIA"},                           // 3D controller: what data centres have
    {0x10de, 0x0300, "NVIDIA"},                           // VGA
    {0x1002, 0x1200, "AMD"},                              // Instinct, processing accelerator
    {0x1002, 0x0380, "AMD"},                              // Instinct, display controller
    {0x1002, 0x0302, "AMD"},    {0x1002, 0x0300, "AMD"},  // See IsConsole().
    {0x1da3, 0x1200, "Intel"},                            // Habana Gaudi
};

bool MayBeGpu(std::uint32_t class_code) {
  for (const auto& row : kGpuClasses)
    if (row.device_class == class_code >> 8) return true;
  return false;
}

const GpuClass* FindClass(std::uint32_t vendor, std::uint32_t class_code) {
  for (const auto& row : kGpuClasses)
    if (row.vendor == vendor && row.device_class == class_code >> 8) return &row;
  return nullptr;
}

// One file identifies the many other functions; captures may have only the other file.
Result<std::uint32_t> ClassOf(const Dir& devices, const std::string& name) {
  const Result<std::string> text = devices.Text(name + "/class");
  if (text.ok()) return ParseHex(*text);
  const Result<std::string> uevent = devices.Text(name + "/uevent");
  if (!uevent.ok() || UeventValue(*uevent, "PCI_CLASS").empty()) return text.status();
  return ParseHex(UeventValue(*uevent, "PCI_CLASS"));
}

// Old servers have a VGA chip of ATI for their console; what computes has the driver amdgpu.
bool IsConsole(const v1::Gpu& gpu, std::uint32_t class_code) {
  constexpr std::uint32_t kVga = 0x0300;
  return gpu.vendor() == "AMD" && class_code >> 8 == kVga && gpu.driver() != "amdgpu";
}

// A virtual function counts only where the function it belongs to is out of sight.
bool IsSpareVirtual(const Host& host, const Dir& function) {
  if (!function.Has("physfn")) return false;
  const Result<std::string> physical = function.LinkName("physfn");
  return !physical.ok() || host.root.Has(Format("{}/{}", kPciDevices, *physical));
}

Result<std::int32_t> ParseNode(std::string_view text) {
  return ParseNumber<std::int32_t>(text);
}

// Model, UUID and GSP firmware, as the NVIDIA driver prints them.
void ReadNvidiaFile(const Host& host, v1::Gpu& gpu, const Gaps& gaps) {
  const std::string path = Format("{}/{}/information", kNvidiaGpus, gpu.pci_address());
  const Result<std::string> text = host.root.Text(path);
  if (!text.ok()) {
    gaps.Add(path, text.status());
    return;
  }
  if (const auto model = NvidiaField(*text, "Model"); !model.empty())
    gpu.set_model(std::string(model));
  if (const auto uuid = NvidiaField(*text, "GPU UUID"); !uuid.empty())
    gpu.set_uuid(std::string(uuid));
  if (const auto firmware = NvidiaField(*text, "GPU Firmware"); !firmware.empty())
    gpu.set_firmware(std::string(firmware));
}

// amdgpu shows what the firmware reports: some boards leave these files empty or out.
void ReadAmdFiles(const Dir& function, v1::Gpu& gpu) {
  if (auto model = function.Text("product_name"); model.ok() && !model->empty())
    gpu.set_model(*std::move(model));
  if (auto id = function.Text("unique_id"); id.ok() && !id->empty()) gpu.set_uuid(*std::move(id));
  if (auto bios = function.Text("vbios_version"); bios.ok() && !bios->empty())
    gpu.set_firmware(*std::move(bios));
}

void ReadDriver(const Dir& function, v1::Gpu& gpu) {
  if (const auto driver = function.LinkName("driver"); driver.ok() && IsPlainName(*driver))
    gpu.set_driver(*driver);
  else if (const auto uevent = function.Text("uevent"); uevent.ok())
    if (const auto name = UeventValue(*uevent, "DRIVER"); IsPlainName(name))
      gpu.set_driver(std::string(name));
}

void ReadGpu(const Host& host, const Attributes& files, v1::Gpu& gpu, const Gaps& gaps) {
  if (auto device = files.Parsed("device", ParseHex)) gpu.set_device_id(Format("{:04x}", *device));
  if (auto node = files.Parsed("numa_node", ParseNode); node && *node >= 0)
    gpu.set_numa_node(*node);
  const std::string resource = Format("{}/{}/resource", kPciDevices, gpu.pci_address());
  const Result<std::string> windows = files.dir().Text("resource");
  const Result<std::uint64_t> window =
      windows.ok() ? ParseLargestWindow(*windows) : Result<std::uint64_t>(windows.status());
  if (!window.ok())
    gaps.Add(resource, window.status());
  else if (*window > 0)
    gpu.set_bar1_bytes(*window);
  if (gpu.driver() == "nvidia") ReadNvidiaFile(host, gpu, gaps);
  if (gpu.driver() == "amdgpu") ReadAmdFiles(files.dir(), gpu);
}

void InspectFunction(const Host& host, const Dir& devices, const std::string& name,
                     v1::NodeSnapshot& out) {
  const std::string path = Format("{}/{}", kPciDevices, name);
  const Gaps gaps{.snapshot = out, .inspector = kGpusName, .subject = name};
  const Result<std::uint32_t> class_code = ClassOf(devices, name);
  if (!class_code.ok()) {
    gaps.Add(path + "/class", class_code.status());
    return;
  }
  if (!MayBeGpu(*class_code)) return;
  const Result<Attributes> files = Attributes::Open(host, path, gaps);
  if (!files.ok()) {
    gaps.Add(path, files.status());
    return;
  }
  const auto vendor = files->Parsed("vendor", ParseHex);
  if (!vendor) return;
  const GpuClass* const row = FindClass(*vendor, *class_code);
  if (row == nullptr || IsSpareVirtual(host, files->dir())) return;
  v1::Gpu& gpu = *out.add_gpus();
  gpu.set_pci_address(ToString(*ParsePciAddress(name)));
  gpu.set_vendor_id(Format("{:04x}", *vendor));
  gpu.set_vendor(std::string(row->vendor_name));
  ReadDriver(files->dir(), gpu);
  if (IsConsole(gpu, *class_code)) return out.mutable_gpus()->RemoveLast();
  ReadGpu(host, *files, gpu, gaps);
}

Status InspectGpus(const Host& host, v1::NodeSnapshot& out) {
  const Gaps all{.snapshot = out, .inspector = kGpusName, .subject = ""};
  ASSIGN_OR_RETURN(const std::vector<std::string> names, PlainNames(host, kPciDevices, all));
  ASSIGN_OR_RETURN(const Dir devices, host.root.Sub(kPciDevices));
  for (const std::string& name : names) {
    if (const auto address = ParsePciAddress(name); address.ok())
      InspectFunction(host, devices, name, out);
    else
      all.Add(Format("{}/{}", kPciDevices, name), address.status());
  }
  return {};
}

}  // namespace

extern const Inspector gpus = {
    .name = kGpusName,
    .doc = "GPUs found by a PCI scan: driver, NUMA node, model, UUID, memory window.",
    .inspect = InspectGpus,
    .wakes = EventKind::kHotplug | EventKind::kModule | EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kGpusFieldNumber},
};

}  // namespace fabric::inspect
