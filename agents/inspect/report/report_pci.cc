#include "agents/inspect/report/field_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "agents/inspect/pci_models.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

std::string Size(std::uint64_t bytes) {
  const std::uint64_t mebibytes = bytes / kMebibyte;
  return mebibytes >= 1024 ? Format("{} GiB", mebibytes / 1024) : Format("{} MiB", mebibytes);
}

std::string GpusText(const v1::NodeSnapshot& snapshot) {
  Section section("GPUs", {"PCI ADDRESS", "VENDOR", "DEVICE", "MODEL", "DRIVER", "FIRMWARE", "NUMA",
                           "WINDOW", "NVLINKS", "UUID"});
  for (const v1::Gpu& gpu : snapshot.gpus())
    section.Row({gpu.pci_address(), OrAbsent(gpu.vendor()), OrAbsent(gpu.device_id()),
                 OrAbsent(gpu.model()), OrAbsent(gpu.driver()), OrAbsent(gpu.firmware()),
                 NumberIf(gpu.has_numa_node(), gpu.numa_node()),
                 gpu.has_bar1_bytes() ? Size(gpu.bar1_bytes()) : std::string(kAbsent),
                 gpu.has_nvlinks() ? Format("{}/{}", gpu.nvlinks_active(), gpu.nvlinks())
                                   : std::string(kAbsent),
                 OrAbsent(gpu.uuid())});
  AddColumns(ElementsOf(snapshot.gpus()), section);
  return section.Text(NoneOrUnknown(snapshot, {kPciSource}, "none"));
}

std::string DistanceText(const v1::GpuNicPath& path) {
  switch (path.distance()) {
    case v1::PCI_DISTANCE_PIX: return "PIX";
    case v1::PCI_DISTANCE_PXB: return "PXB";
    case v1::PCI_DISTANCE_PHB: return "PHB";
    case v1::PCI_DISTANCE_NODE: return "NODE";
    case v1::PCI_DISTANCE_SYS: return "SYS";
    default: return "?";
  }
}

// Redirecting bridges do harm where peers could talk below the host bridge, or just through it;
// what goes further takes that way in any case.
bool RedirectMatters(const v1::GpuNicPath& path) {
  return !path.acs_redirects().empty() && path.distance() <= v1::PCI_DISTANCE_PHB;
}

std::string MatrixNotes(const v1::NodeSnapshot& snapshot) {
  std::set<std::string> reasons;
  std::set<std::string> redirects;
  bool known = true;
  for (const v1::GpuNicPath& path : snapshot.gpu_nic_paths()) {
    if (!path.reason().empty()) reasons.insert(path.reason());
    if (RedirectMatters(path))
      redirects.insert(path.acs_redirects().begin(), path.acs_redirects().end());
    known = known && (path.acs_known() || path.distance() == v1::PCI_DISTANCE_UNSPECIFIED);
  }
  std::string text =
      "  PIX: at most one switch  PXB: several switches  PHB: through the host bridge\n"
      "  NODE: two host bridges of a NUMA node  SYS: two NUMA nodes  ?: not known\n";
  for (const std::string& reason : reasons) text += Format("  ?: {}\n", reason);
  if (!redirects.empty())
    text += Format("  *: access control (ACS) redirects peer traffic at {}\n",
                   Join({redirects.begin(), redirects.end()}, " "));
  if (!known) text += "  access control (ACS) of bridges is not known for all of these\n";
  return text;
}

std::string MatrixText(const v1::NodeSnapshot& snapshot) {
  std::vector<std::string> header = {"GPU"};
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    if (device.has_pci_address()) header.push_back(device.name());
  Section section("GPU to NIC", header);
  if (snapshot.gpu_nic_paths().empty())
    return section.Text(
        NoneOrUnknown(snapshot, {kPciSource, kRdmaClass}, "no pair of a GPU and an RDMA device"));
  std::map<std::pair<std::string, std::string>, std::string> cells;
  for (const v1::GpuNicPath& path : snapshot.gpu_nic_paths())
    cells[{path.gpu(), path.device()}] = DistanceText(path) + (RedirectMatters(path) ? "*" : "");
  for (const v1::Gpu& gpu : snapshot.gpus()) {
    std::vector<std::string> row = {gpu.pci_address()};
    for (std::size_t i = 1; i < header.size(); ++i) {
      const auto cell = cells.find({gpu.pci_address(), header[i]});
      row.push_back(cell == cells.end() ? std::string(kAbsent) : cell->second);
    }
    section.Row(row);
  }
  std::string text = section.Text("");
  text.pop_back();  // The notes belong to the table.
  return text + MatrixNotes(snapshot) + "\n";
}

std::string LinkText(bool there, const v1::PciLink& link) {
  if (!there) return std::string(kAbsent);
  const std::uint32_t speed = link.speed_megatransfers_per_second();
  const std::string lanes = link.has_width() ? Format("x{}", link.width()) : "x?";
  if (!link.has_speed_megatransfers_per_second()) return lanes;
  return Format("{}.{} GT/s {}", speed / 1000, speed % 1000 / 100, lanes);
}

// Whether `a` is slower or narrower than `b` in what both tell.
bool Below(const v1::PciLink& a, const v1::PciLink& b) {
  return (a.has_width() && b.has_width() && a.width() < b.width()) ||
         (a.has_speed_megatransfers_per_second() && b.has_speed_megatransfers_per_second() &&
          a.speed_megatransfers_per_second() < b.speed_megatransfers_per_second());
}

// The best that function and slot could do together.
v1::PciLink Possible(const v1::PciFunction& function) {
  v1::PciLink best = function.link_max();
  const v1::PciLink& slot = function.slot_max();
  if (slot.has_width() && slot.width() < best.width()) best.set_width(slot.width());
  if (slot.has_speed_megatransfers_per_second() &&
      slot.speed_megatransfers_per_second() < best.speed_megatransfers_per_second())
    best.set_speed_megatransfers_per_second(slot.speed_megatransfers_per_second());
  return best;
}

bool IsBridge(const v1::PciFunction& function) {
  return function.class_code().starts_with("0604");
}

std::string Notes(const v1::PciFunction& function) {
  std::vector<std::string> notes;
  // The port above a link may support more than the plugged card.
  if (!IsBridge(function) || function.has_slot_max()) {
    if (Below(function.link(), Possible(function)))
      notes.emplace_back("link below capability");
    else if (Below(function.slot_max(), function.link_max()))
      notes.emplace_back("slot below capability");
  }
  if (function.acs().redirects()) notes.emplace_back("ACS redirects");
  return Join(notes, ", ");
}

std::string SwitchText(bool there, bool on) {
  return std::string(!there ? kAbsent : on ? "on" : "off");
}

std::string ErrorsText(const v1::PciFunction& function) {
  if (!function.has_aer_correctable()) return std::string(kAbsent);
  return Format("{}/{}/{}", function.aer_correctable(), function.aer_nonfatal(),
                function.aer_fatal());
}

std::string PciFunctionsText(const v1::NodeSnapshot& snapshot) {
  std::map<std::string, std::string> what;
  for (const v1::Gpu& gpu : snapshot.gpus()) what[gpu.pci_address()] = "GPU";
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    if (device.has_pci_address()) what[device.pci_address()] = device.name();
  Section section("PCI Express", {"FUNCTION", "WHAT", "LINK", "CAPABLE OF", "SLOT", "PAYLOAD",
                                  "READ REQUEST", "RELAXED", "ATS", "IOMMU", "ERRORS", "NOTES"});
  Elements shown;
  for (const v1::PciFunction& function : snapshot.pci_functions()) {
    const std::string notes = Notes(function);
    const std::string& name = what[function.address()];
    // Only unusual bridges and unreadable functions.
    if (name.empty() && notes.empty() && (IsBridge(function) || !function.has_class_code()))
      continue;
    const PciModel* const model = FindPciModel(function.vendor_id(), function.device_id());
    const std::string card = name.empty() && model != nullptr ? std::string(model->name) : name;
    section.Row({function.address(), IsBridge(function) ? "bridge" : OrAbsent(card),
                 LinkText(function.has_link(), function.link()),
                 LinkText(function.has_link_max(), function.link_max()),
                 LinkText(function.has_slot_max(), function.slot_max()),
                 NumberIf(function.has_max_payload_bytes(), function.max_payload_bytes()),
                 NumberIf(function.has_max_read_request_bytes(), function.max_read_request_bytes()),
                 SwitchText(function.has_relaxed_ordering(), function.relaxed_ordering()),
                 function.has_ats_capable() && !function.ats_capable()
                     ? "none"
                     : SwitchText(function.has_ats_enabled(), function.ats_enabled()),
                 OrAbsent(function.iommu_type()), ErrorsText(function), OrAbsent(notes)});
    shown.push_back(&function);
  }
  AddColumns(shown, section);
  return section.Text(NoneOrUnknown(snapshot, {kPciSource, kRdmaClass}, "none of interest"));
}

std::string DriverText(const v1::GpuDriver& driver) {
  const std::string open = !driver.has_open_module() ? ""
                           : driver.open_module()    ? " (open module)"
                                                     : " (closed module)";
  return OrAbsent(Trim(driver.name() + " " + driver.version() + open));
}

std::string YesNo(bool there, bool yes, const std::string& reason) {
  if (!there) return OrAbsent(reason);
  return std::string(yes ? "yes" : "no") + (reason.empty() ? "" : ": " + reason);
}

std::string PeerMemoryText(const v1::NodeSnapshot& snapshot) {
  const auto loaded = [](bool there, bool value) {
    return std::string(!there ? kAbsent : value ? "loaded" : "not loaded");
  };
  const v1::PeerMemory& peer = snapshot.peer_memory();
  std::vector<std::vector<std::string>> rows = {
      {"NVIDIA_PEERMEM", loaded(peer.has_nvidia_peermem_loaded(), peer.nvidia_peermem_loaded())},
      {"NV_PEER_MEM", loaded(peer.has_nv_peer_mem_loaded(), peer.nv_peer_mem_loaded())},
      {"VERSION", OrAbsent(peer.version())},
      {"CLIENTS", OrAbsent(Join({peer.clients().begin(), peer.clients().end()}, " "))},
      {"BOUND TO IB_CORE",
       YesNo(peer.has_bound_to_ib_core(), peer.bound_to_ib_core(), peer.bound_reason())},
      {"DMA-BUF",
       YesNo(peer.dma_buf().has_possible(), peer.dma_buf().possible(), peer.dma_buf().reason())},
      {"GPU DRIVER", DriverText(peer.gpu_driver())},
      {"NVIDIA_FS", loaded(peer.has_nvidia_fs_loaded(), peer.nvidia_fs_loaded())},
      {"GDRDRV", loaded(peer.has_gdrdrv_loaded(), peer.gdrdrv_loaded())}};
  for (auto& row : FieldRows(peer)) rows.push_back(std::move(row));
  return KnownRows("GPUDirect", std::move(rows),
                   NoneOrUnknown(snapshot, {{"peer_memory", ""}}, "none"));
}

}  // namespace

std::string PciText(const v1::NodeSnapshot& snapshot) {
  return GpusText(snapshot) + MatrixText(snapshot) + PciFunctionsText(snapshot) +
         PeerMemoryText(snapshot);
}

}  // namespace fabric::inspect
