#include "agents/host/verbs_queue_pair.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

#include "agents/host/verbs_device.h"
#include "base/text.h"

namespace fabric::host {
namespace {

// What NCCL and perftest use. A lost packet is sent again after 4.096 us << 14 = 67 ms at the
// earliest; after eight tries the write fails, so a dead partner is seen within seconds.
constexpr std::uint8_t kTimeout = 14;
constexpr std::uint8_t kRetries = 7;
constexpr std::uint8_t kRnrRetries = 7;  // Without end
constexpr std::uint8_t kMinRnrTimer = 12;
constexpr std::uint8_t kHopLimit = 255;
constexpr std::uint32_t kPsnMask = 0xffffff;
constexpr std::size_t kPageBytes = 4096;
// All work requests may be flushed at once when the queue pair fails.
constexpr std::uint32_t kCompletionsSpare = 8;

using DomainPtr = std::unique_ptr<ibv_pd, VerbsDelete<&ibv_dealloc_pd>>;
using QueuePtr = std::unique_ptr<ibv_cq, VerbsDelete<&ibv_destroy_cq>>;
using RegionPtr = std::unique_ptr<ibv_mr, VerbsDelete<&ibv_dereg_mr>>;
using PairPtr = std::unique_ptr<ibv_qp, VerbsDelete<&ibv_destroy_qp>>;
using MemoryPtr = std::unique_ptr<std::byte, VerbsDelete<&std::free>>;

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

Result<ibv_mtu> PathMtu(std::uint32_t bytes) {
  if (std::has_single_bit(bytes) && bytes >= 256 && bytes <= 4096)
    return static_cast<ibv_mtu>(std::countr_zero(bytes) - 7);
  return Status(Code::kInvalidArgument,
                Format("expected a path MTU of 256 to 4096 bytes, saw {}", bytes));
}

class VerbsQueuePair final : public RcQueuePair {
 public:
  explicit VerbsQueuePair(RcOptions options) : options_(std::move(options)) {}

  Status Open();

  RcEndpoint local() const override { return local_; }
  Status Connect(const RcEndpoint& remote, std::uint32_t traffic_class) override;
  std::span<std::byte> memory() override { return {memory_.get(), options_.memory_bytes}; }
  Status PostWrite(std::uint32_t offset, std::uint32_t bytes, std::uint64_t id,
                   bool signaled) override;
  Result<std::size_t> Poll(std::span<Completion> completions) override;

 private:
  Status OpenPort();
  Status OpenMemory();
  Status CreatePair(std::uint32_t inline_bytes);
  Status ToInit();
  Status ToReceive(const RcEndpoint& remote, std::uint32_t traffic_class);
  Status ToSend();
  // The driver's error with the step and the port.
  Status Failure(int error, std::string_view step) const {
    return FromErrno(error, Format("{}/{}: {}", options_.device, options_.port, step));
  }

  const RcOptions options_;
  // Destroyed from the last to the first.
  ContextPtr context_;
  DomainPtr domain_;
  MemoryPtr memory_;
  RegionPtr region_;
  QueuePtr queue_;
  PairPtr pair_;
  bool ethernet_ = false;
  std::uint32_t inline_bytes_ = 0;
  RcEndpoint local_;
  RcEndpoint remote_;
};

Status VerbsQueuePair::Open() {
  ASSIGN_OR_RETURN(context_, OpenDevice(options_.device));
  RETURN_IF_ERROR(OpenPort());
  domain_.reset(ibv_alloc_pd(context_.get()));
  if (domain_ == nullptr) return Failure(errno, "protection domain");
  RETURN_IF_ERROR(OpenMemory());
  queue_.reset(ibv_create_cq(context_.get(),
                             static_cast<int>(options_.send_queue_depth + kCompletionsSpare),
                             nullptr, nullptr, 0));
  if (queue_ == nullptr)
    return Failure(errno, Format("completion queue of {}", options_.send_queue_depth));
  Status created = CreatePair(options_.inline_bytes);
  if (!created.ok() && options_.inline_bytes > 0) created = CreatePair(0);
  RETURN_IF_ERROR(created);
  local_.queue_pair_number = pair_->qp_num;
  local_.packet_sequence_number = static_cast<std::uint32_t>(std::random_device()()) & kPsnMask;
  return ToInit();
}

Status VerbsQueuePair::OpenPort() {
  ASSIGN_OR_RETURN(const ibv_port_attr attributes, PortAttributes(*context_, options_.port));
  if (attributes.state != IBV_PORT_ACTIVE)
    return {Code::kFailedPrecondition, Format("{}/{}: port is {}", options_.device, options_.port,
                                              ibv_port_state_str(attributes.state))};
  ethernet_ = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
  ibv_gid gid{};
  // Returns -1 with errno, or an error number, as the version of the library has it.
  if (const int error = ibv_query_gid(context_.get(), static_cast<std::uint8_t>(options_.port),
                                      static_cast<int>(options_.gid_index), &gid))
    return Failure(error > 0 ? error : errno, Format("reading GID {}", options_.gid_index));
  local_.gid = GidText(gid);
  local_.gid_index = options_.gid_index;
  local_.lid = attributes.lid;
  local_.active_mtu_bytes = MtuBytes(attributes.active_mtu);
  return {};
}

Status VerbsQueuePair::OpenMemory() {
  const std::size_t bytes = (options_.memory_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  memory_.reset(
      static_cast<std::byte*>(std::aligned_alloc(kPageBytes, std::max(bytes, kPageBytes))));
  if (memory_ == nullptr) return Failure(ENOMEM, Format("{} bytes of memory", bytes));
  std::memset(memory_.get(), 0, bytes);
  region_.reset(ibv_reg_mr(domain_.get(), memory_.get(), options_.memory_bytes,
                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
  // The usual cause is the limit on locked memory, which the kernel reports as ENOMEM.
  if (region_ == nullptr)
    return Failure(errno, Format("registering {} bytes of memory", options_.memory_bytes));
  local_.remote_address = reinterpret_cast<std::uintptr_t>(memory_.get());
  local_.remote_key = region_->rkey;
  local_.memory_bytes = options_.memory_bytes;
  return {};
}

Status VerbsQueuePair::CreatePair(std::uint32_t inline_bytes) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = queue_.get();
  attributes.recv_cq = queue_.get();
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {.max_send_wr = options_.send_queue_depth,
                    .max_recv_wr = 1,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = inline_bytes};
  pair_.reset(ibv_create_qp(domain_.get(), &attributes));
  if (pair_ == nullptr)
    return Failure(errno, Format("queue pair with {} work requests", options_.send_queue_depth));
  // Drivers may grant more than was asked for; what was not asked for is not used.
  inline_bytes_ = std::min(inline_bytes, attributes.cap.max_inline_data);
  return {};
}

Status VerbsQueuePair::ToInit() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = 0;
  attributes.port_num = static_cast<std::uint8_t>(options_.port);
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  const int error =
      ibv_modify_qp(pair_.get(), &attributes,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  return error == 0 ? Status() : Failure(error, "queue pair to INIT");
}

Status VerbsQueuePair::Connect(const RcEndpoint& remote, std::uint32_t traffic_class) {
  remote_ = remote;
  RETURN_IF_ERROR(ToReceive(remote, traffic_class));
  return ToSend();
}

Status VerbsQueuePair::ToReceive(const RcEndpoint& remote, std::uint32_t traffic_class) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  ASSIGN_OR_RETURN(attributes.path_mtu,
                   PathMtu(std::min(local_.active_mtu_bytes, remote.active_mtu_bytes)));
  attributes.dest_qp_num = remote.queue_pair_number;
  attributes.rq_psn = remote.packet_sequence_number & kPsnMask;
  attributes.max_dest_rd_atomic = 1;
  attributes.min_rnr_timer = kMinRnrTimer;
  attributes.ah_attr.port_num = static_cast<std::uint8_t>(options_.port);
  attributes.ah_attr.dlid = static_cast<std::uint16_t>(remote.lid);
  if (ethernet_) {  // InfiniBand needs the global header between subnets only.
    attributes.ah_attr.is_global = 1;
    ASSIGN_OR_RETURN(attributes.ah_attr.grh.dgid, ParseGid(remote.gid));
    attributes.ah_attr.grh.flow_label = 0;
    attributes.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(options_.gid_index);
    attributes.ah_attr.grh.hop_limit = kHopLimit;
    attributes.ah_attr.grh.traffic_class = static_cast<std::uint8_t>(traffic_class);
  }
  const int error =
      ibv_modify_qp(pair_.get(), &attributes,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (error == 0) return {};
  return Failure(error, Format("queue pair to RTR towards GID {}", remote.gid));
}

Status VerbsQueuePair::ToSend() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = local_.packet_sequence_number;
  attributes.timeout = kTimeout;
  attributes.retry_cnt = kRetries;
  attributes.rnr_retry = kRnrRetries;
  attributes.max_rd_atomic = 1;
  const int error = ibv_modify_qp(pair_.get(), &attributes,
                                  IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
  return error == 0 ? Status() : Failure(error, "queue pair to RTS");
}

Status VerbsQueuePair::PostWrite(std::uint32_t offset, std::uint32_t bytes, std::uint64_t id,
                                 bool signaled) {
  ibv_sge piece{.addr = local_.remote_address + offset, .length = bytes, .lkey = region_->lkey};
  ibv_send_wr request{};
  request.wr_id = id;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  if (signaled) request.send_flags |= IBV_SEND_SIGNALED;
  if (bytes <= inline_bytes_) request.send_flags |= IBV_SEND_INLINE;
  request.wr.rdma.remote_addr = remote_.remote_address + offset;
  request.wr.rdma.rkey = remote_.remote_key;
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(pair_.get(), &request, &bad);
  return error == 0 ? Status() : Failure(error, Format("posting a write of {} bytes", bytes));
}

Result<std::size_t> VerbsQueuePair::Poll(std::span<Completion> completions) {
  std::array<ibv_wc, 16> found;
  const auto wanted = static_cast<int>(std::min(found.size(), completions.size()));
  const int count = ibv_poll_cq(queue_.get(), wanted, found.data());
  if (count < 0) return Failure(errno, "polling the completion queue");
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    completions[i].work_request_id = found[i].wr_id;
    completions[i].ok = found[i].status == IBV_WC_SUCCESS;
    if (completions[i].ok) continue;
    completions[i].error =
        Format("{} ({}), vendor syndrome {:#x}", ibv_wc_status_str(found[i].status),
               static_cast<int>(found[i].status), found[i].vendor_err);
  }
  return static_cast<std::size_t>(count);
}

}  // namespace

Result<std::unique_ptr<RcQueuePair>> OpenVerbsQueuePair(const RcOptions& options) {
  auto pair = std::make_unique<VerbsQueuePair>(options);
  RETURN_IF_ERROR(pair->Open());
  return std::unique_ptr<RcQueuePair>(std::move(pair));
}

}  // namespace fabric::host
