#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "agents/host/verbs/verbs_queue_pairs.h"
#include "base/text.h"

namespace fabric::host {
namespace {

constexpr std::uint8_t kHopLimit = 255;
constexpr std::size_t kPageBytes = 4096;
constexpr std::uint16_t kPkeyNumber = 0x7fff;
constexpr std::uint16_t kPkeyFull = 0x8000;

std::string GidText(const ibv_gid& gid) {
  std::string text;
  for (std::size_t i = 0; i < sizeof gid.raw; i += 2)
    text += Format("{}{:02x}{:02x}", i == 0 ? "" : ":", gid.raw[i], gid.raw[i + 1]);
  return text;
}

Result<ibv_gid> ParseGid(const std::string& text) {
  ibv_gid gid{};
  if (inet_pton(AF_INET6, text.c_str(), gid.raw) == 1) return gid;
  return Status(Code::kInvalidArgument, Format("expected a GID, saw {}", Quoted(text)));
}

}  // namespace

Status VerbsPortSide::Open(const PortOptions& options) {
  options_ = options;
  ASSIGN_OR_RETURN(context_, OpenDevice(options_.device));
  ASSIGN_OR_RETURN(const ibv_port_attr attributes, PortAttributes(*context_, options_.port));
  if (attributes.state != IBV_PORT_ACTIVE)
    return {Code::kFailedPrecondition, Format("{}/{}: port is {}", options_.device, options_.port,
                                              ibv_port_state_str(attributes.state))};
  ethernet_ = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
  ibv_gid gid{};
  // Returns -1 with errno, or an error number, as the version of the library has it.
  if (const int error =
          ibv_query_gid(context_.get(), number(), static_cast<int>(options_.gid_index), &gid))
    return Failure(error > 0 ? error : errno, Format("reading GID {}", options_.gid_index));
  if (const int error = ibv_query_device(context_.get(), &limits_))
    return Failure(error, "asking for the device's limits");
  address_.gid = GidText(gid);
  address_.gid_index = options_.gid_index;
  address_.lid = attributes.lid;
  address_.active_mtu_bytes = MtuBytes(attributes.active_mtu);
  if (options_.pkey) RETURN_IF_ERROR(FindPkey(attributes.pkey_tbl_len));
  domain_.reset(ibv_alloc_pd(context_.get()));
  return domain_ == nullptr ? Failure(errno, "protection domain") : Status();
}

// A full member before a limited one: two limited members cannot talk to each other.
Status VerbsPortSide::FindPkey(std::uint16_t slots) {
  std::optional<std::uint16_t> limited;
  for (std::uint16_t slot = 0; slot < slots; ++slot) {
    __be16 big_endian = 0;
    if (ibv_query_pkey(context_.get(), number(), slot, &big_endian) != 0) continue;
    const std::uint16_t pkey = ntohs(big_endian);
    if ((pkey & kPkeyNumber) != *options_.pkey || pkey == 0) continue;
    pkey_index_ = slot;
    if ((pkey & kPkeyFull) != 0) return {};
    limited = slot;
  }
  if (limited) return {};
  return {Code::kFailedPrecondition, Format("{}/{}: P_Key {:#06x} is not in the table of the port",
                                            options_.device, options_.port, *options_.pkey)};
}

Status VerbsPortSide::Failure(int error, std::string_view step) const {
  return FromErrno(error, Format("{}/{}: {}", options_.device, options_.port, step));
}

Result<ibv_ah_attr> VerbsPortSide::AddressOf(const Endpoint& remote, const Way& way) const {
  ibv_ah_attr address{};
  address.port_num = number();
  address.sl = static_cast<std::uint8_t>(way.service_level);
  address.dlid = static_cast<std::uint16_t>(remote.lid);
  if (!ethernet_) return address;
  address.is_global = 1;
  ASSIGN_OR_RETURN(address.grh.dgid, ParseGid(remote.gid));
  address.grh.flow_label = way.flow_label;
  address.grh.sgid_index = static_cast<std::uint8_t>(options_.gid_index);
  address.grh.hop_limit = kHopLimit;
  address.grh.traffic_class = static_cast<std::uint8_t>(way.traffic_class);
  return address;
}

Result<VerbsMemory> VerbsMemory::Register(const VerbsPortSide& port, std::size_t bytes,
                                          int access) {
  VerbsMemory memory;
  const std::size_t whole =
      std::max((bytes + kPageBytes - 1) / kPageBytes * kPageBytes, kPageBytes);
  memory.bytes.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, whole)));
  if (memory.bytes == nullptr) return port.Failure(ENOMEM, Format("{} bytes of memory", whole));
  std::memset(memory.bytes.get(), 0, whole);
  memory.region.reset(ibv_reg_mr(&port.domain(), memory.bytes.get(), bytes, access));
  // The usual cause is the limit on locked memory, which the kernel reports as ENOMEM.
  if (memory.region == nullptr)
    return port.Failure(errno, Format("registering {} bytes of memory", bytes));
  return memory;
}

std::string CompletionError(ibv_wc_status status, std::uint32_t vendor_error) {
  return Format("{} ({}), vendor syndrome {:#x}", ibv_wc_status_str(status),
                static_cast<int>(status), vendor_error);
}

}  // namespace fabric::host
