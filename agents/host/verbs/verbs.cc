#include "agents/host/verbs/verbs.h"

#include <infiniband/verbs.h>

#include <algorithm>
#include <limits>

#include "agents/host/call_watch.h"
#include "agents/host/verbs/verbs_device.h"
#include "agents/host/verbs/verbs_queue_pairs.h"
#include "base/text.h"

namespace fabric::host {
namespace {

class CapturedVerbs final : public Verbs {
 public:
  Result<VerbsPort> QueryPort(const std::string&, std::uint32_t) override { return Refusal(); }
  Result<VerbsDevice> QueryDevice(const std::string&, std::uint32_t) override { return Refusal(); }
  Result<std::unique_ptr<RcQueuePairs>> OpenRc(const RcOptions&) override { return Refusal(); }
  Result<std::unique_ptr<UdQueuePairs>> OpenUd(const UdOptions&) override { return Refusal(); }
  Result<bool> TakesDmaBuf(const std::string&) override { return Refusal(); }

 private:
  static Status Refusal() { return {Code::kUnimplemented, "verbs need the live machine"}; }
};

class MachineVerbs final : public Verbs {
 public:
  Result<VerbsPort> QueryPort(const std::string& device, std::uint32_t port) override {
    const WatchedCall call([&] { return device + "/verbs"; });
    RETURN_IF_ERROR(call.status());
    ASSIGN_OR_RETURN(const ContextPtr context, OpenDevice(device));
    return AskPort(*context, port);
  }
  Result<VerbsDevice> QueryDevice(const std::string& device, std::uint32_t ports) override {
    const WatchedCall call([&] { return device + "/verbs"; });
    RETURN_IF_ERROR(call.status());
    ASSIGN_OR_RETURN(const ContextPtr context, OpenDevice(device));
    VerbsDevice answer;
    std::size_t slots = 0;
    for (std::uint32_t number = 1; number <= ports; ++number) {
      ASSIGN_OR_RETURN(const VerbsPort port, AskPort(*context, number));
      answer.ports.push_back(port);
      slots += port.gid_table_length;
    }
    // The size of an answer is a 16-bit number (ib_uverbs_attr). A device with more slots than
    // that in use refuses.
    constexpr std::size_t kSlotsMax = std::numeric_limits<std::uint16_t>::max() / sizeof(Entry);
    std::vector<Entry> entries(std::min(slots, kSlotsMax));
    const ssize_t count = ibv_query_gid_table(context.get(), entries.data(), entries.size(), 0);
    if (count < 0) return FromErrno(static_cast<int>(-count), "asking for GIDs of " + device);
    entries.resize(static_cast<std::size_t>(count));
    for (const Entry& entry : entries)
      answer.gids.push_back({.port = entry.port_num, .index = entry.gid_index});
    return answer;
  }
  Result<std::unique_ptr<RcQueuePairs>> OpenRc(const RcOptions& options) override {
    return OpenRcQueuePairs(options);
  }
  Result<std::unique_ptr<UdQueuePairs>> OpenUd(const UdOptions& options) override {
    return OpenUdQueuePairs(options);
  }
  Result<bool> TakesDmaBuf(const std::string& device) override {
    ASSIGN_OR_RETURN(const ContextPtr context, OpenDevice(device));
    const std::unique_ptr<ibv_pd, VerbsDelete<&ibv_dealloc_pd>> domain(ibv_alloc_pd(context.get()));
    if (domain == nullptr) return FromErrno(errno, "allocating a protection domain of " + device);
    constexpr std::size_t kBytes = 4096;
    constexpr int kNoFile = -1;
    errno = 0;
    const std::unique_ptr<ibv_mr, VerbsDelete<&ibv_dereg_mr>> memory(
        ibv_reg_dmabuf_mr(domain.get(), 0, kBytes, 0, kNoFile, IBV_ACCESS_LOCAL_WRITE));
    if (memory != nullptr || errno == EBADF) return true;
    if (errno == EOPNOTSUPP || errno == EPROTONOSUPPORT || errno == ENOSYS) return false;
    return FromErrno(errno, "registering no dma-buf with " + device);
  }

 private:
  using Entry = ibv_gid_entry;

  static Result<VerbsPort> AskPort(ibv_context& context, std::uint32_t port) {
    ASSIGN_OR_RETURN(const ibv_port_attr attributes, PortAttributes(context, port));
    return VerbsPort{.active_mtu_bytes = MtuBytes(attributes.active_mtu),
                     .max_mtu_bytes = MtuBytes(attributes.max_mtu),
                     .gid_table_length = static_cast<std::uint32_t>(attributes.gid_tbl_len)};
  }
};

}  // namespace

Result<ContextPtr> OpenDevice(const std::string& name) {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  if (list == nullptr) return FromErrno(errno, "listing RDMA devices");
  const std::unique_ptr<ibv_device*, void (*)(ibv_device**)> owner(list, ibv_free_device_list);
  for (int i = 0; i < count; ++i) {
    if (name != ibv_get_device_name(list[i])) continue;
    ContextPtr context(ibv_open_device(list[i]));
    if (context != nullptr) return context;
    return FromErrno(errno, Format("opening {} (/dev/infiniband/{})", name, list[i]->dev_name));
  }
  return Status(Code::kNotFound,
                Format("no RDMA device {} among the {} of this machine", Quoted(name), count));
}

Result<ibv_port_attr> PortAttributes(ibv_context& context, std::uint32_t port) {
  ibv_port_attr attributes{};
  if (port == 0 || port > 255)
    return Status(Code::kInvalidArgument, Format("port {}: expected 1 to 255", port));
  if (const int error = ibv_query_port(&context, static_cast<std::uint8_t>(port), &attributes))
    return FromErrno(error, Format("querying {}/{}", ibv_get_device_name(context.device), port));
  return attributes;
}

std::uint32_t MtuBytes(ibv_mtu mtu) {
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << static_cast<unsigned>(mtu) : 0;
}

std::unique_ptr<Verbs> OpenVerbs() {
  return std::make_unique<MachineVerbs>();
}
std::unique_ptr<Verbs> NoVerbs() {
  return std::make_unique<CapturedVerbs>();
}

}  // namespace fabric::host
