#include "agents/host/pci_config.h"

#include <linux/pci_regs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <string>

#include "base/text.h"

namespace fabric::host {
namespace {

constexpr std::uint32_t kHeaderBytes = 64;
constexpr std::uint32_t kConfigBytes = 256;
constexpr std::uint32_t kExtendedBytes = 4096;
constexpr std::uint32_t kWordBytes = 4;  // Capabilities begin at multiples of it.

std::uint16_t Get16(std::span<const std::uint8_t> bytes, std::size_t at) {
  return static_cast<std::uint16_t>(bytes[at] | bytes[at + 1] << 8);
}

std::uint32_t Get32(std::span<const std::uint8_t> bytes, std::size_t at) {
  return Get16(bytes, at) | static_cast<std::uint32_t>(Get16(bytes, at + 2)) << 16;
}

// All of `to`, or false.
Result<bool> ReadAll(const ReadConfigAt& read, std::uint32_t offset, std::span<std::uint8_t> to) {
  if (offset + to.size() > kExtendedBytes) return false;
  ASSIGN_OR_RETURN(const std::size_t size, read(offset, to));
  return size == to.size();
}

std::uint8_t WidthOf(unsigned field) {
  return field <= 32 ? static_cast<std::uint8_t>(field) : 0;
}

// The first 20 bytes of the capability: up to and with the link status.
constexpr std::size_t kExpressBytes = PCI_EXP_LNKSTA + 2;

PciExpress ParseExpress(std::span<const std::uint8_t> bytes) {
  const std::uint16_t flags = Get16(bytes, PCI_EXP_FLAGS);
  const std::uint32_t capability = Get32(bytes, PCI_EXP_DEVCAP);
  const std::uint16_t control = Get16(bytes, PCI_EXP_DEVCTL);
  const std::uint32_t link_capability = Get32(bytes, PCI_EXP_LNKCAP);
  const std::uint16_t link = Get16(bytes, PCI_EXP_LNKSTA);
  const auto bytes_of = [](unsigned code) { return 128U << code; };
  return {
      .port_type = static_cast<std::uint8_t>((flags & PCI_EXP_FLAGS_TYPE) >> 4),
      .payload_bytes = bytes_of((control & PCI_EXP_DEVCTL_PAYLOAD) >> 5),
      .payload_supported_bytes = bytes_of(capability & PCI_EXP_DEVCAP_PAYLOAD),
      .read_request_bytes = bytes_of((control & PCI_EXP_DEVCTL_READRQ) >> 12),
      .relaxed_ordering = (control & PCI_EXP_DEVCTL_RELAX_EN) != 0,
      .extended_tag = (control & PCI_EXP_DEVCTL_EXT_TAG) != 0,
      .speed_code = static_cast<std::uint8_t>(link & PCI_EXP_LNKSTA_CLS),
      .width = WidthOf((link & PCI_EXP_LNKSTA_NLW) >> 4),
      .speed_code_max = static_cast<std::uint8_t>(link_capability & PCI_EXP_LNKCAP_SLS),
      .width_max = WidthOf((link_capability & PCI_EXP_LNKCAP_MLW) >> 4),
  };
}

// The list that begins at byte 0x34. capabilities_known stays false when it is cut off.
Status WalkCapabilities(const ReadConfigAt& read, std::uint8_t first, PciConfig& config) {
  std::bitset<kConfigBytes / kWordBytes> seen;
  std::uint32_t at = first & ~3U;
  while (at >= kHeaderBytes && !seen[at / kWordBytes]) {
    seen.set(at / kWordBytes);
    std::array<std::uint8_t, 2> head{};
    ASSIGN_OR_RETURN(const bool there, ReadAll(read, at, head));
    if (!there) return {};
    if (head[0] == 0xff) break;
    if (head[0] == PCI_CAP_ID_EXP && !config.express) {
      std::array<std::uint8_t, kExpressBytes> bytes{};
      ASSIGN_OR_RETURN(const bool whole, ReadAll(read, at, bytes));
      if (!whole) return {};
      config.express = ParseExpress(bytes);
    }
    at = head[1] & ~3U;
  }
  config.capabilities_known = true;
  return {};
}

Status ReadExtended(const ReadConfigAt& read, std::uint32_t at, std::uint16_t id,
                    PciConfig& config) {
  if (id != PCI_EXT_CAP_ID_ACS && id != PCI_EXT_CAP_ID_ATS) return {};
  std::array<std::uint8_t, 4> bytes{};  // Capability and control register of either
  ASSIGN_OR_RETURN(const bool there, ReadAll(read, at + PCI_ACS_CAP, bytes));
  config.extended_known = there;
  if (!there) return {};
  const PciAccessControl registers{.capability = Get16(bytes, 0), .control = Get16(bytes, 2)};
  if (id == PCI_EXT_CAP_ID_ACS && !config.access_control) config.access_control = registers;
  if (id == PCI_EXT_CAP_ID_ATS && !config.translation)
    config.translation = {.enabled = (registers.control & PCI_ATS_CTRL_ENABLE) != 0};
  return {};
}

// The list that begins at byte 256. extended_known becomes false when it is cut off.
Status WalkExtended(const ReadConfigAt& read, PciConfig& config) {
  std::bitset<kExtendedBytes / kWordBytes> seen;
  config.extended_known = true;
  std::uint32_t at = kConfigBytes;
  while (at >= kConfigBytes && !seen[at / kWordBytes] && config.extended_known) {
    seen.set(at / kWordBytes);
    std::array<std::uint8_t, 4> bytes{};
    ASSIGN_OR_RETURN(config.extended_known, ReadAll(read, at, bytes));
    const std::uint32_t head = Get32(bytes, 0);
    if (!config.extended_known || head == 0 || head == 0xffffffff) break;
    RETURN_IF_ERROR(ReadExtended(read, at, PCI_EXT_CAP_ID(head), config));
    at = PCI_EXT_CAP_NEXT(head);
  }
  return {};
}

}  // namespace

Result<PciConfig> ParsePciConfig(const ReadConfigAt& read) {
  std::array<std::uint8_t, kHeaderBytes> header{};
  ASSIGN_OR_RETURN(const bool there, ReadAll(read, 0, header));
  if (!there) return Status(Code::kDataLoss, "expected at least 64 bytes");
  if (std::all_of(header.begin(), header.end(), [](std::uint8_t byte) { return byte == 0xff; }))
    return Status(Code::kUnavailable, "all ones: the function does not answer");
  PciConfig config{.vendor = Get16(header, PCI_VENDOR_ID),
                   .device = Get16(header, PCI_DEVICE_ID),
                   .class_code = Get32(header, PCI_CLASS_REVISION) >> 8};
  if ((header[PCI_HEADER_TYPE] & PCI_HEADER_TYPE_MASK) == PCI_HEADER_TYPE_BRIDGE)
    config.buses = {.secondary = header[PCI_SECONDARY_BUS],
                    .subordinate = header[PCI_SUBORDINATE_BUS]};
  if ((Get16(header, PCI_STATUS) & PCI_STATUS_CAP_LIST) == 0)
    config.capabilities_known = true;
  else
    RETURN_IF_ERROR(WalkCapabilities(read, header[PCI_CAPABILITY_LIST], config));
  if (config.express)
    RETURN_IF_ERROR(WalkExtended(read, config));
  else  // Only functions of PCI Express (and PCI-X 2, which has died out) have more.
    config.extended_known = config.capabilities_known;
  return config;
}

Result<PciConfig> ReadPciConfig(const Dir& function) {
  ASSIGN_OR_RETURN(const Fd fd, function.OpenFile("config"));
  const auto read = [&](std::uint32_t offset, std::span<std::uint8_t> to) -> Result<std::size_t> {
    const ssize_t size = ::pread(fd.get(), to.data(), to.size(), offset);
    if (size < 0) return FromErrno(errno, function.path() + "/config");
    return static_cast<std::size_t>(size);
  };
  return ParsePciConfig(read);
}

}  // namespace fabric::host
