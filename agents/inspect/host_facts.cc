#include <algorithm>
#include <map>
#include <set>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/host_texts.h"
#include "agents/inspect/parse/parse.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kHostFactsName = "host_facts";
constexpr const char* kNodes = "sys/devices/system/node";

std::optional<std::string> NonEmpty(const Host& host, const std::string& path) {
  Result<std::string> text = host.root.Text(path);
  if (!text.ok() || text->empty()) return std::nullopt;
  return *std::move(text);
}

void ReadKernel(const Host& host, const Gaps& gaps, v1::HostFacts& facts) {
  const auto read = [&](const std::string& path) -> std::optional<std::string> {
    Result<std::string> text = host.root.Text(path);
    if (text.ok() && !text->empty()) return *std::move(text);
    gaps.Add(path, text.ok() ? Status(Code::kDataLoss, "empty") : text.status());
    return std::nullopt;
  };
  if (auto version = read("proc/version")) facts.set_kernel_version(*std::move(version));
  if (auto line = read("proc/cmdline")) facts.set_kernel_command_line(*std::move(line));
}

void ReadDistribution(const Host& host, const Gaps& gaps, v1::HostFacts& facts) {
  Result<std::string> text = host.root.Text("etc/os-release");
  // It is a link, which a capture may have flattened or left dangling.
  if (!text.ok() || text->empty())
    if (auto linked = NonEmpty(host, "usr/lib/os-release")) text = *std::move(linked);
  if (!text.ok()) {
    if (const auto line = NonEmpty(host, "etc/redhat-release"))
      return facts.set_distribution(*line);
    return gaps.Add("etc/os-release", text.status());
  }
  const auto values = ParseOsRelease(*text);
  const auto value = [&](const char* key) -> std::string {
    const auto found = values.find(key);
    return found == values.end() ? "" : found->second;
  };
  const std::string pretty = value("PRETTY_NAME");
  const std::string name = pretty.empty() ? value("NAME") : pretty;
  if (name.empty())
    return gaps.Add("etc/os-release",
                    Status(Code::kInvalidArgument, "expected NAME=, saw " + Quoted(*text)));
  facts.set_distribution(name);
  if (!value("ID").empty()) facts.set_distribution_id(value("ID"));
  if (!value("VERSION_ID").empty()) facts.set_distribution_version(value("VERSION_ID"));
}

// The page sizes below one directory, "hugepages-2048kB".
void ReadHugePages(const Host& host, const std::string& directory, std::optional<int> node,
                   v1::HostFacts& facts) {
  const Result<Dir> dir = host.root.Sub(directory);
  if (!dir.ok()) return;
  const Result<std::vector<std::string>> names = dir->Names();
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    constexpr std::string_view kPrefix = "hugepages-";
    constexpr std::string_view kSuffix = "kB";
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    const auto kib = ParseNumber<std::uint32_t>(std::string_view(name).substr(
        kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size()));
    if (!kib.ok()) continue;
    v1::HugePages& pages = *facts.add_hugepages();
    pages.set_page_bytes(std::uint64_t{*kib} * 1024);
    if (node) pages.set_numa_node(*node);
    const auto total = dir->Number<std::uint64_t>(name + "/nr_hugepages");
    if (total.ok()) pages.set_total(*total);
    const auto free = dir->Number<std::uint64_t>(name + "/free_hugepages");
    if (free.ok()) pages.set_free(*free);
  }
}

void ReadNodes(const Host& host, const Gaps& gaps, v1::HostFacts& facts) {
  ReadHugePages(host, "sys/kernel/mm/hugepages", std::nullopt, facts);
  const Result<Dir> nodes = host.root.Sub(kNodes);
  if (!nodes.ok()) return gaps.Add(kNodes, nodes.status());
  std::uint32_t count = 0;
  std::map<std::uint32_t, std::string> cpus;
  for (const std::string& name :
       nodes->Names().ok() ? *nodes->Names() : std::vector<std::string>()) {
    if (!name.starts_with("node")) continue;
    const auto number = ParseNumber<std::int32_t>(std::string_view(name).substr(4));
    if (!number.ok()) continue;
    ++count;
    ReadHugePages(host, Format("{}/{}/hugepages", kNodes, name), *number, facts);
    // Nodes of memory only have an empty list.
    if (auto list = nodes->Text(name + "/cpulist"); list.ok() && NumbersOfList(*list).ok())
      cpus[static_cast<std::uint32_t>(*number)] = *std::move(list);
  }
  for (auto& [id, list] : cpus) {
    v1::NumaNode& node = *facts.add_numa_cpus();
    node.set_id(id);
    node.set_cpus(std::move(list));
  }
  const Result<std::string> online = nodes->Text("online");
  const Result<std::uint32_t> listed = online.ok() ? CountOfList(*online) : online.status();
  if (listed.ok()) count = *listed;
  if (count > 0)
    facts.set_numa_nodes(count);
  else
    gaps.Add(Format("{}/online", kNodes), listed.status());
  std::sort(facts.mutable_hugepages()->begin(), facts.mutable_hugepages()->end(),
            [](const v1::HugePages& a, const v1::HugePages& b) {
              const auto key = [](const v1::HugePages& pages) {
                return std::tuple(pages.has_numa_node(), pages.numa_node(), pages.page_bytes());
              };
              return key(a) < key(b);
            });
}

void ReadMemory(const Host& host, const Gaps& gaps, v1::HostFacts& facts) {
  const Result<std::string> text = host.root.Text("proc/meminfo");
  if (!text.ok()) return gaps.Add("proc/meminfo", text.status());
  if (const auto bytes = MeminfoBytes(*text, "MemTotal"))
    facts.set_memory_bytes(*bytes);
  else
    gaps.Add("proc/meminfo", Status(Code::kInvalidArgument, "expected MemTotal in kB"));
}

// What the kernel gives a device that asks for nothing. The command line says it outright; else it
// is what all devices that matter have, without those that were handed to a guest.
std::optional<std::string> IommuDefaultType(const v1::NodeSnapshot& snapshot,
                                            const std::string& command_line) {
  const std::string mode = CommandLineValue(command_line, "iommu").value_or("");
  const std::string passthrough = CommandLineValue(command_line, "iommu.passthrough").value_or("");
  const auto options = Split(mode, ',');
  if (std::find(options.begin(), options.end(), "pt") != options.end() || passthrough == "1" ||
      passthrough == "y" || passthrough == "on")
    return "identity";
  std::set<std::string> types;
  for (const v1::PciFunction& function : snapshot.pci_functions())
    if (function.has_iommu_type() && function.iommu_type() != "blocked" &&
        function.iommu_type() != "unmanaged")
      types.insert(function.iommu_type());
  if (types.size() != 1) return std::nullopt;
  return *types.begin();
}

// Both directories are there whenever the kernel was built with IOMMU support.
void ReadIommu(const Host& host, const Gaps& gaps, const v1::NodeSnapshot& snapshot,
               v1::HostFacts& facts) {
  std::optional<bool> present;
  for (const char* path : {"sys/class/iommu", "sys/kernel/iommu_groups"}) {
    const Result<Dir> dir = host.root.Sub(path);
    if (!dir.ok()) continue;
    const Result<std::vector<std::string>> names = dir->Names();
    if (names.ok()) present = present.value_or(false) || !names->empty();
  }
  for (const v1::PciFunction& function : snapshot.pci_functions())
    if (function.has_iommu_group()) present = true;
  // A kernel without IOMMU support has neither; a capture may have left them out.
  if (!present && host.captured)
    return gaps.Add("sys/class/iommu", Status(Code::kNotFound, "not in the captured tree"));
  facts.set_iommu_present(present.value_or(false));
  if (!facts.iommu_present()) return;
  if (auto type = IommuDefaultType(snapshot, facts.kernel_command_line()))
    facts.set_iommu_default_type(*std::move(type));
}

// Readable by all users. Machines of device trees have none.
void ReadBios(const Host& host, v1::HostFacts& facts) {
  const auto read = [&](const char* file) {
    return NonEmpty(host, Format("sys/class/dmi/id/{}", file));
  };
  if (auto vendor = read("bios_vendor")) facts.set_bios_vendor(*std::move(vendor));
  if (auto version = read("bios_version")) facts.set_bios_version(*std::move(version));
  if (auto date = read("bios_date")) facts.set_bios_date(*std::move(date));
  if (auto board = read("board_name")) facts.set_board(*std::move(board));
}

// The start is enough: all processors are of one model. An unknown model is absent without a gap.
void ReadCpuModel(const Host& host, v1::HostFacts& facts) {
  const Result<std::string> start = host.root.Start("proc/cpuinfo");
  if (!start.ok()) return;  // A gap of the virtualization, which the file decides as well
  if (auto model = CpuModel(*start)) facts.set_cpu_model(*std::move(model));
}

// By the control group of its service, which systemd removes when it ends.
void ReadInterruptBalancer(const Host& host, v1::HostFacts& facts) {
  for (const std::string slice :
       {"sys/fs/cgroup/system.slice", "sys/fs/cgroup/systemd/system.slice"})
    if (host.root.Has(slice))
      return facts.set_irqbalance_running(host.root.Has(slice + "/irqbalance.service"));
}

void ReadMachine(const Host& host, const Gaps& gaps, v1::HostFacts& facts) {
  std::string vendor, product;
  for (const std::string directory : {"sys/class/dmi/id/", "sys/devices/virtual/dmi/id/"}) {
    if (vendor.empty()) vendor = NonEmpty(host, directory + "sys_vendor").value_or("");
    if (product.empty()) product = NonEmpty(host, directory + "product_name").value_or("");
  }
  std::string name = vendor + (vendor.empty() || product.empty() ? "" : " ") + product;
  if (name.empty()) {  // Machines of device trees; the text ends in a NUL byte.
    const Result<std::string> model = host.root.Whole("proc/device-tree/model");
    if (model.ok()) name = Trim(std::string_view(*model).substr(0, model->find('\0')));
    if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; }))
      name.clear();
  }
  if (!name.empty()) facts.set_product(name);
  ReadBios(host, facts);

  const std::string_view by_dmi = HypervisorOfDmi(vendor, product);
  const Result<std::string> by_processor = host.platform.Hypervisor();
  if (by_processor.ok()) {
    const bool virtual_machine = *by_processor != "none";
    facts.set_virtualization(virtual_machine && !by_dmi.empty() ? std::string(by_dmi)
                                                                : *by_processor);
    return;
  }
  std::optional<bool> flag;
  if (host.captured)  // Live this file is costly: kernels before 5.19 ask every processor.
    if (const Result<std::string> cpuinfo = host.root.Whole("proc/cpuinfo"); cpuinfo.ok())
      flag = HypervisorFlag(*cpuinfo);
  if (flag == false) return facts.set_virtualization("none");
  if (!by_dmi.empty()) return facts.set_virtualization(std::string(by_dmi));
  if (flag == true) return facts.set_virtualization("vm-other");
  gaps.Add(host.captured ? "proc/cpuinfo" : "",
           Status(Code::kUnimplemented, "unknown whether this is a virtual machine"));
}

Status InspectHostFacts(const Host& host, v1::NodeSnapshot& out) {
  const Gaps gaps{.snapshot = out, .inspector = kHostFactsName, .subject = ""};
  v1::HostFacts& facts = *out.mutable_host();
  ReadKernel(host, gaps, facts);
  ReadDistribution(host, gaps, facts);
  ReadNodes(host, gaps, facts);
  ReadMemory(host, gaps, facts);
  ReadIommu(host, gaps, out, facts);
  ReadMachine(host, gaps, facts);
  ReadInterruptBalancer(host, facts);
  ReadCpuModel(host, facts);
  return {};
}

}  // namespace

extern const Inspector host_facts = {
    .name = kHostFactsName,
    .doc =
        "Kernel, distribution, memory, hugepages, NUMA nodes, IOMMU, product, CPU model, "
        "virtualization.",
    .inspect = InspectHostFacts,
    .wakes = EventKind::kHotplug | EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kHostFieldNumber},
};

}  // namespace fabric::inspect
