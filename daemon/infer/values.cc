#include "daemon/infer/values.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/links/links.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/pcie/pci.h"

namespace fabric::infer {
namespace {

using fleet::PortView;
using rules::EqualityRule;
using rules::Member;
using rules::Value;

std::optional<Value> Rate(const Member& member) {
  const auto rate = rules::LinkRate(*member.port);
  return rate ? std::optional(Value{*rate}) : std::nullopt;
}
std::optional<Value> ExpectedRate(const v1::Expectations& expect) {
  return expect.has_rate_bps() ? std::optional(Value{expect.rate_bps()}) : std::nullopt;
}

std::optional<Value> Width(const Member& member) {
  const PortView& port = *member.port;
  if (!rules::IsActiveInfiniband(port) || !port.port->has_width()) return {};
  return Value{port.port->width()};
}
std::optional<Value> ExpectedWidth(const v1::Expectations& expect) {
  return expect.has_width() ? std::optional(Value{expect.width()}) : std::nullopt;
}

// PFC on some priority. That there is none may be a mistake of all of them, or mean global pause.
std::optional<Value> Lossless(const Member& member) {
  const auto mask = rules::PfcMask(*member.port);
  return mask ? std::optional(Value{mask->empty() ? 0U : 1U}) : std::nullopt;
}
std::optional<Value> ExpectedLossless(const v1::Expectations& expect) {
  return expect.lossless() ? std::optional(Value{1}) : std::nullopt;
}

std::optional<Value> Trust(const Member& member) {
  const v1::DcbConfig* const dcb = rules::DcbOf(*member.port);
  if (dcb == nullptr || !dcb->has_trust()) return {};
  return Value{static_cast<std::uint64_t>(dcb->trust())};
}
std::optional<Value> ExpectedTrust(const v1::Expectations& expect) {
  if (!expect.has_trust()) return {};
  return Value{static_cast<std::uint64_t>(expect.trust())};
}
std::string ShowTrust(const Value& value) {
  return value.number == v1::TRUST_DSCP ? "dscp" : "pcp";
}

std::optional<Value> DataPriority(const Member& member) {
  const auto priority = rules::DataPriority(*member.port);
  return priority ? std::optional(Value{*priority}) : std::nullopt;
}
std::optional<Value> ExpectedDataPriority(const v1::Expectations& expect) {
  return expect.has_data_priority() ? std::optional(Value{expect.data_priority()}) : std::nullopt;
}

std::optional<Value> DataShare(const Member& member) {
  const v1::DcbConfig* const dcb = rules::DcbOf(*member.port);
  const auto priority = rules::DataPriority(*member.port);
  if (dcb == nullptr || !dcb->has_ets() || !priority) return {};
  const auto traffic_class = rules::ClassOf(dcb->ets(), *priority);
  const auto share = traffic_class ? rules::ShareOf(dcb->ets(), *traffic_class) : std::nullopt;
  return share ? std::optional(Value{*share}) : std::nullopt;
}
std::optional<Value> ExpectedDataShare(const v1::Expectations& expect) {
  if (!expect.has_data_bandwidth_min_percent()) return {};
  return Value{expect.data_bandwidth_min_percent()};
}

std::optional<Value> CableLength(const Member& member) {
  const v1::DcbConfig* const dcb = rules::DcbOf(*member.port);
  if (dcb == nullptr || !dcb->has_cable_length_m()) return {};
  return Value{dcb->cable_length_m()};
}
std::optional<Value> ExpectedCableLength(const v1::Expectations& expect) {
  return expect.has_cable_length_m() ? std::optional(Value{expect.cable_length_m()}) : std::nullopt;
}

std::optional<Value> RoceMtu(const Member& member) {
  const PortView& port = *member.port;
  if (!rules::CarriesRoce(port) || !port.port->has_active_mtu_bytes()) return {};
  return Value{port.port->active_mtu_bytes()};
}
std::optional<Value> ExpectedRoceMtu(const v1::Expectations& expect) {
  return expect.has_rdma_mtu_bytes() ? std::optional(Value{expect.rdma_mtu_bytes()}) : std::nullopt;
}

std::optional<Value> InfinibandMtu(const Member& member) {
  const PortView& port = *member.port;
  if (!rules::IsActiveInfiniband(port) || !port.port->has_active_mtu_bytes()) return {};
  return Value{port.port->active_mtu_bytes()};
}
std::optional<Value> ExpectedInfinibandMtu(const v1::Expectations& expect) {
  return expect.has_ib_mtu_bytes() ? std::optional(Value{expect.ib_mtu_bytes()}) : std::nullopt;
}

std::optional<Value> GidFamily(const Member& member) {
  const PortView& port = *member.port;
  if (!rules::CarriesRoce(port)) return {};
  const v1::Gid* const gid = fleet::UsableGid(*port.device, *port.port);
  if (gid == nullptr) return {};
  return Value{static_cast<std::uint64_t>(gid->ipv4().empty() ? v1::ADDRESS_FAMILY_IPV6
                                                              : v1::ADDRESS_FAMILY_IPV4)};
}
std::optional<Value> ExpectedGidFamily(const v1::Expectations& expect) {
  if (!expect.has_gid_family()) return {};
  return Value{static_cast<std::uint64_t>(expect.gid_family())};
}
std::string ShowGidFamily(const Value& value) {
  return value.number == v1::ADDRESS_FAMILY_IPV4 ? "ipv4" : "ipv6";
}

constexpr std::uint32_t kPkeyNumber = 0x7fff;
constexpr std::uint32_t kPkeyFull = 0x8000;
constexpr int kPkeysMax = 4;

// Those with full membership, 16 bits each: bit 15 marks one that is there.
Value Pack(std::vector<std::uint32_t> full) {
  std::sort(full.begin(), full.end());
  Value value;
  for (const std::uint32_t pkey : full) value.number = value.number << 16 | kPkeyFull | pkey;
  return value;
}

std::optional<Value> FullPkeys(const Member& member) {
  if (!rules::IsActiveInfiniband(*member.port)) return {};
  std::vector<std::uint32_t> full;
  for (const std::uint32_t pkey : member.port->port->pkeys())
    if ((pkey & kPkeyFull) != 0) full.push_back(pkey & kPkeyNumber);
  if (full.empty() || full.size() > kPkeysMax) return {};
  return Pack(std::move(full));
}
std::optional<Value> ExpectedFullPkeys(const v1::Expectations& expect) {
  if (expect.full_pkeys().empty() || expect.full_pkeys_size() > kPkeysMax) return {};
  return Pack({expect.full_pkeys().begin(), expect.full_pkeys().end()});
}
std::string ShowPkeys(const Value& value) {
  std::vector<std::string> shown;
  for (const std::uint32_t pkey : PackedPkeys(value)) shown.push_back(Format("0x{:04x}", pkey));
  return Join(shown, ",");
}

// The farthest that a GPU in use is from its nearest NIC of the fabric.
std::optional<Value> GpuDistance(const Member& member) {
  const v1::NodeSnapshot& snapshot = member.snapshot();
  const std::uint64_t fabric = rules::FabricDevices(*member.node);
  std::optional<Value> farthest;
  for (const v1::Gpu& gpu : snapshot.gpus()) {
    if (!rules::IsInUse(gpu)) continue;
    std::optional<std::uint64_t> nearest;
    for (const v1::GpuNicPath& path : snapshot.gpu_nic_paths()) {
      if (path.gpu() != gpu.pci_address()) continue;
      for (int i = 0; i < std::min(snapshot.rdma_devices_size(), 64); ++i) {
        if (snapshot.rdma_devices(i).name() != path.device() || (fabric >> i & 1) == 0) continue;
        if (path.distance() == v1::PCI_DISTANCE_UNSPECIFIED) return {};
        const auto distance = static_cast<std::uint64_t>(path.distance());
        nearest = nearest ? std::min(*nearest, distance) : distance;
      }
    }
    if (nearest) farthest = Value{farthest ? std::max(farthest->number, *nearest) : *nearest};
  }
  return farthest;
}
std::optional<Value> ExpectedGpuDistance(const v1::Expectations& expect) {
  if (!expect.has_gpu_nic_distance_max()) return {};
  return Value{static_cast<std::uint64_t>(expect.gpu_nic_distance_max())};
}
std::string ShowGpuDistance(const Value& value) {
  v1::Expectations expect;
  expect.set_gpu_nic_distance_max(static_cast<v1::PciDistance>(value.number));
  return std::string(Trim(LineOf(expect).substr(std::string_view("gpu_nic_distance_max:").size())));
}

// Of the GPUs and NICs that the host itself uses, when it is one for all.
std::optional<Value> IommuType(const Member& member) {
  std::string_view type;
  for (const v1::PciFunction& function : member.snapshot().pci_functions()) {
    if (!function.has_iommu_type() || rules::IsBridge(function) ||
        function.iommu_type() == "blocked" || function.iommu_type() == "unmanaged" ||
        function.driver().starts_with("vfio"))
      continue;
    if (!type.empty() && type != function.iommu_type()) return {};
    type = function.iommu_type();
  }
  if (type.empty() || member.node->ports.empty()) return {};
  return Value{.text = type};
}
std::optional<Value> ExpectedIommuType(const v1::Expectations& expect) {
  return expect.has_iommu_type() ? std::optional(Value{.text = expect.iommu_type()}) : std::nullopt;
}

// A profile can state only `unlimited`: a limit is the default of the distribution.
std::optional<Value> Memlock(const Member& member) {
  const v1::HostFacts& host = member.snapshot().host();
  if (member.node->ports.empty() || !host.has_default_user_memlock()) return {};
  const bool services = !host.has_default_service_memlock() ||
                        host.default_service_memlock().unlimited() ||
                        host.default_service_memlock().is_default();
  return Value{host.default_user_memlock().unlimited() && services ? 1U : 0U};
}
std::optional<Value> ExpectedMemlock(const v1::Expectations& expect) {
  return expect.memlock_unlimited() ? std::optional(Value{1}) : std::nullopt;
}

constexpr EqualityRule kRate = {.what = "link rate",
                                .group = rules::ByRailAndModel,
                                .value = Rate,
                                .expected = ExpectedRate,
                                .show = rules::ShowRate};
constexpr EqualityRule kWidth = {
    .what = "lanes", .group = rules::ByRailAndModel, .value = Width, .expected = ExpectedWidth};
constexpr EqualityRule kLossless = {.what = "PFC on some priority",
                                    .value = Lossless,
                                    .expected = ExpectedLossless,
                                    .show = rules::ShowOnOff};
constexpr EqualityRule kTrust = {.what = "trust",
                                 .group = rules::ByRailAndDriver,
                                 .value = Trust,
                                 .expected = ExpectedTrust,
                                 .show = ShowTrust};
constexpr EqualityRule kDataPriority = {
    .what = "priority of RoCE data", .value = DataPriority, .expected = ExpectedDataPriority};
constexpr EqualityRule kDataShare = {.what = "ETS share of RoCE data",
                                     .group = rules::ByRailAndDriver,
                                     .value = DataShare,
                                     .expected = ExpectedDataShare};
constexpr EqualityRule kCableLength = {.what = "cable length",
                                       .group = rules::ByRailAndDriver,
                                       .value = CableLength,
                                       .expected = ExpectedCableLength};
constexpr EqualityRule kRoceMtu = {
    .what = "active RDMA MTU", .value = RoceMtu, .expected = ExpectedRoceMtu};
constexpr EqualityRule kInfinibandMtu = {
    .what = "active RDMA MTU", .value = InfinibandMtu, .expected = ExpectedInfinibandMtu};
constexpr EqualityRule kGidFamily = {.what = "address family of GIDs",
                                     .value = GidFamily,
                                     .expected = ExpectedGidFamily,
                                     .show = ShowGidFamily};
constexpr EqualityRule kFullPkeys = {.what = "P_Keys with full membership",
                                     .group = rules::BySubnet,
                                     .value = FullPkeys,
                                     .expected = ExpectedFullPkeys,
                                     .show = ShowPkeys};
constexpr EqualityRule kGpuDistance = {.what = "distance of GPUs to their NICs",
                                       .of_nodes = true,
                                       .group = rules::ByProduct,
                                       .value = GpuDistance,
                                       .expected = ExpectedGpuDistance,
                                       .show = ShowGpuDistance};
constexpr EqualityRule kIommuType = {.what = "IOMMU type",
                                     .of_nodes = true,
                                     .group = rules::ByProduct,
                                     .value = IommuType,
                                     .expected = ExpectedIommuType,
                                     .show = rules::ShowText};
constexpr EqualityRule kMemlock = {.what = "locked memory unlimited",
                                   .of_nodes = true,
                                   .group = rules::ByProduct,
                                   .value = Memlock,
                                   .expected = ExpectedMemlock,
                                   .show = rules::ShowOnOff};

constexpr Reading kReadings[] = {
    {"rate_bps", &kRate},
    {"width", &kWidth},
    {"lossless", &kLossless},
    {"trust", &kTrust},
    {"data_priority", &kDataPriority},
    {"data_bandwidth_min_percent", &kDataShare},
    {"cable_length_m", &kCableLength},
    {"rdma_mtu_bytes", &kRoceMtu},
    {"gid_family", &kGidFamily},
    {"full_pkeys", &kFullPkeys},
    {"ib_mtu_bytes", &kInfinibandMtu},
    {"gpu_nic_distance_max", &kGpuDistance},
    {"iommu_type", &kIommuType},
    {"memlock_unlimited", &kMemlock},
};

}  // namespace

std::span<const Reading> OwnReadings() {
  return kReadings;
}

std::vector<std::uint32_t> PackedPkeys(const Value& value) {
  std::vector<std::uint32_t> pkeys;
  for (int i = kPkeysMax - 1; i >= 0; --i) {
    const auto slot = static_cast<std::uint32_t>(value.number >> (16 * i) & 0xffffU);
    if ((slot & kPkeyFull) != 0) pkeys.push_back(slot & kPkeyNumber);
  }
  return pkeys;
}

}  // namespace fabric::infer
