// RcQueuePairs with libibverbs.
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <random>
#include <utility>

#include "agents/host/verbs/verbs_queue_pairs.h"
#include "base/text.h"

namespace fabric::host {
namespace {

constexpr std::uint8_t kMinRnrTimer = 12;
constexpr std::uint32_t kPsnMask = 0xffffff;
// All work requests may be flushed at once when the queue pair fails.
constexpr std::uint32_t kCompletionsSpare = 8;
// What a work request is, within the number that its completion gives back.
constexpr int kPairShift = 40;
constexpr std::uint64_t kIdMask = (std::uint64_t{1} << kPairShift) - 1;
constexpr std::uint64_t kReceive = std::uint64_t{1} << 63;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

ibv_wr_opcode OpcodeOf(Operation operation) {
  switch (operation) {
    case Operation::kWrite: return IBV_WR_RDMA_WRITE;
    case Operation::kRead: return IBV_WR_RDMA_READ;
    case Operation::kFetchAdd: return IBV_WR_ATOMIC_FETCH_AND_ADD;
    case Operation::kCompareSwap: return IBV_WR_ATOMIC_CMP_AND_SWP;
    default: return IBV_WR_SEND;
  }
}

// The answer comes into the memory of the request.
bool HasAnswer(Operation operation) {
  return operation == Operation::kRead || operation == Operation::kFetchAdd ||
         operation == Operation::kCompareSwap;
}

Result<ibv_mtu> PathMtu(std::uint32_t bytes) {
  if (std::has_single_bit(bytes) && bytes >= 256 && bytes <= 4096)
    return static_cast<ibv_mtu>(std::countr_zero(bytes) - 7);
  return Status(Code::kInvalidArgument,
                Format("expected a path MTU of 256 to 4096 bytes, saw {}", bytes));
}

std::uint32_t Limit(int of_device) {
  return static_cast<std::uint32_t>(std::clamp(of_device, 1, 255));
}

class VerbsRcQueuePairs final : public RcQueuePairs {
 public:
  explicit VerbsRcQueuePairs(RcOptions options) : options_(std::move(options)) {}

  Status Open();

  Endpoint local() const override { return local_; }
  Status Connect(std::uint32_t queue_pair, const Endpoint& remote,
                 const ConnectionSettings& settings) override;
  std::span<std::byte> memory() override { return {memory_.bytes.get(), options_.memory_bytes}; }
  Result<RegisteredMemory> Register(const DeviceMemory& memory) override;
  void Unregister(std::uint32_t region) override { regions_.erase(region); }
  Status Post(const WorkRequest& request) override;
  Result<std::size_t> Poll(std::span<Completion> completions) override;

 private:
  Status OpenQueue();
  Status CreatePair(std::uint32_t inline_bytes);
  Status ToInit(ibv_qp& pair);
  Status ToReceive(std::uint32_t queue_pair, const Endpoint& remote,
                   const ConnectionSettings& settings);
  Status ToSend(std::uint32_t queue_pair, const ConnectionSettings& settings);
  Status PostReceive(ibv_sge& piece, const WorkRequest& request);
  int access() const { return options_.atomics ? kAccess | IBV_ACCESS_REMOTE_ATOMIC : kAccess; }

  const RcOptions options_;
  // Destroyed from the last to the first.
  VerbsPortSide port_;
  VerbsMemory memory_;
  struct Region {
    RegionPtr registered;
    std::uint64_t address;  // Of a dma-buf the driver's own is 0.
  };
  std::map<std::uint32_t, Region> regions_;  // By number
  std::uint32_t last_region_ = 0;
  QueuePtr queue_;
  std::vector<PairPtr> pairs_;
  std::uint32_t inline_bytes_ = 0;
  Endpoint local_;
  Endpoint remote_;
};

Status VerbsRcQueuePairs::Open() {
  RETURN_IF_ERROR(port_.Open(options_.at));
  if (options_.atomics && port_.limits().atomic_cap == IBV_ATOMIC_NONE)
    return {Code::kUnimplemented,
            Format("{}/{}: the device has no RDMA atomics", options_.at.device, options_.at.port)};
  ASSIGN_OR_RETURN(memory_, VerbsMemory::Register(port_, options_.memory_bytes, access()));
  local_ = port_.address();
  local_.remote_address = reinterpret_cast<std::uintptr_t>(memory_.bytes.get());
  local_.remote_key = memory_.region->rkey;
  local_.memory_bytes = options_.memory_bytes;
  local_.outstanding_reads = Limit(port_.limits().max_qp_rd_atom);
  RETURN_IF_ERROR(OpenQueue());
  std::random_device random;
  for (std::uint32_t n = 0; n < options_.queue_pairs; ++n) {
    Status created = CreatePair(options_.inline_bytes);
    if (!created.ok() && options_.inline_bytes > 0) created = CreatePair(0);
    RETURN_IF_ERROR(created);
    local_.queue_pairs.push_back(
        {.number = pairs_.back()->qp_num,
         .packet_sequence_number = static_cast<std::uint32_t>(random()) & kPsnMask});
    RETURN_IF_ERROR(ToInit(*pairs_.back()));
  }
  return {};
}

Status VerbsRcQueuePairs::OpenQueue() {
  const std::uint32_t wanted =
      options_.queue_pairs * (options_.send_queue_depth + options_.receive_queue_depth) +
      kCompletionsSpare;
  const int entries = std::min(static_cast<int>(wanted), std::max(port_.limits().max_cqe, 1));
  queue_.reset(ibv_create_cq(&port_.context(), entries, nullptr, nullptr, 0));
  return queue_ == nullptr ? port_.Failure(errno, Format("completion queue of {}", entries))
                           : Status();
}

Status VerbsRcQueuePairs::CreatePair(std::uint32_t inline_bytes) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = queue_.get();
  attributes.recv_cq = queue_.get();
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {.max_send_wr = options_.send_queue_depth,
                    .max_recv_wr = options_.receive_queue_depth,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = inline_bytes};
  PairPtr pair(ibv_create_qp(&port_.domain(), &attributes));
  if (pair == nullptr)
    return port_.Failure(errno, Format("queue pair {} of {} with {} sends and {} receives",
                                       pairs_.size() + 1, options_.queue_pairs,
                                       options_.send_queue_depth, options_.receive_queue_depth));
  pairs_.push_back(std::move(pair));
  // Drivers may grant more than was asked for; what was not asked for is not used.
  inline_bytes_ = std::min(inline_bytes, attributes.cap.max_inline_data);
  return {};
}

Status VerbsRcQueuePairs::ToInit(ibv_qp& pair) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = port_.pkey_index();
  attributes.port_num = port_.number();
  attributes.qp_access_flags = static_cast<unsigned>(access());
  const int error = ibv_modify_qp(
      &pair, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  return error == 0 ? Status() : port_.Failure(error, "queue pair to INIT");
}

Status VerbsRcQueuePairs::Connect(std::uint32_t queue_pair, const Endpoint& remote,
                                  const ConnectionSettings& settings) {
  if (queue_pair >= pairs_.size() || queue_pair >= remote.queue_pairs.size())
    return {Code::kFailedPrecondition, Format("the partner has {} queue pairs, expected {}",
                                              remote.queue_pairs.size(), options_.queue_pairs)};
  remote_ = remote;
  RETURN_IF_ERROR(ToReceive(queue_pair, remote, settings));
  return ToSend(queue_pair, settings);
}

Status VerbsRcQueuePairs::ToReceive(std::uint32_t queue_pair, const Endpoint& remote,
                                    const ConnectionSettings& settings) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  ASSIGN_OR_RETURN(attributes.path_mtu, PathMtu(settings.path_mtu_bytes));
  attributes.dest_qp_num = remote.queue_pairs[queue_pair].number;
  attributes.rq_psn = remote.queue_pairs[queue_pair].packet_sequence_number & kPsnMask;
  attributes.max_dest_rd_atomic = static_cast<std::uint8_t>(local_.outstanding_reads);
  attributes.min_rnr_timer = kMinRnrTimer;
  ASSIGN_OR_RETURN(attributes.ah_attr,
                   port_.AddressOf(remote, {.service_level = settings.service_level,
                                            .flow_label = settings.flow_label,
                                            .traffic_class = settings.traffic_class}));
  const int error =
      ibv_modify_qp(pairs_[queue_pair].get(), &attributes,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (error == 0) return {};
  return port_.Failure(error, Format("queue pair to RTR towards GID {}", remote.gid));
}

Status VerbsRcQueuePairs::ToSend(std::uint32_t queue_pair, const ConnectionSettings& settings) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = local_.queue_pairs[queue_pair].packet_sequence_number;
  attributes.timeout = static_cast<std::uint8_t>(settings.timeout);
  attributes.retry_cnt = static_cast<std::uint8_t>(settings.retry_count);
  attributes.rnr_retry = static_cast<std::uint8_t>(settings.rnr_retry);
  // An agent of an older version does not say how many it answers: one.
  attributes.max_rd_atomic = static_cast<std::uint8_t>(std::min(
      Limit(port_.limits().max_qp_init_rd_atom), std::clamp(remote_.outstanding_reads, 1U, 255U)));
  const int error = ibv_modify_qp(pairs_[queue_pair].get(), &attributes,
                                  IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
  return error == 0 ? Status() : port_.Failure(error, "queue pair to RTS");
}

Result<RegisteredMemory> VerbsRcQueuePairs::Register(const DeviceMemory& memory) {
  RegionPtr region(memory.dma_buf < 0
                       ? ibv_reg_mr(&port_.domain(), reinterpret_cast<void*>(memory.address),
                                    memory.bytes, kAccess)
                       : ibv_reg_dmabuf_mr(&port_.domain(), memory.dma_buf_offset, memory.bytes,
                                           memory.address, memory.dma_buf, kAccess));
  if (region == nullptr)
    return port_.Failure(
        errno, Format("{} of {} bytes", memory.dma_buf < 0 ? "ibv_reg_mr" : "ibv_reg_dmabuf_mr",
                      memory.bytes));
  const std::uint32_t number = ++last_region_;
  const RegisteredMemory registered{
      .region = number, .address = memory.address, .key = region->rkey};
  regions_[number] = {.registered = std::move(region), .address = memory.address};
  return registered;
}

Status VerbsRcQueuePairs::Post(const WorkRequest& wanted) {
  ibv_sge piece{.addr = local_.remote_address + wanted.offset,
                .length = wanted.bytes,
                .lkey = memory_.region->lkey};
  if (wanted.region != 0) {
    const auto region = regions_.find(wanted.region);
    if (region == regions_.end())
      return {Code::kInvalidArgument, Format("no memory region {}", wanted.region)};
    piece.addr = region->second.address + wanted.offset;
    piece.lkey = region->second.registered->lkey;
  }
  if (wanted.operation == Operation::kReceive) return PostReceive(piece, wanted);
  ibv_send_wr request{};
  request.wr_id = wanted.id | std::uint64_t{wanted.queue_pair} << kPairShift;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = OpcodeOf(wanted.operation);
  if (wanted.signaled) request.send_flags |= IBV_SEND_SIGNALED;
  if (wanted.region == 0 && wanted.bytes <= inline_bytes_ && !HasAnswer(wanted.operation))
    request.send_flags |= IBV_SEND_INLINE;
  const RemoteMemory remote = wanted.remote.value_or(
      RemoteMemory{.address = remote_.remote_address, .key = remote_.remote_key});
  if (wanted.operation == Operation::kFetchAdd || wanted.operation == Operation::kCompareSwap) {
    const bool swap = wanted.operation == Operation::kCompareSwap;
    request.wr.atomic = {.remote_addr = remote.address + wanted.offset,
                         .compare_add = swap ? wanted.compare : wanted.operand,
                         .swap = swap ? wanted.operand : 0,
                         .rkey = remote.key};
  } else {
    request.wr.rdma.remote_addr = remote.address + wanted.offset;
    request.wr.rdma.rkey = remote.key;
  }
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(pairs_[wanted.queue_pair].get(), &request, &bad);
  return error == 0 ? Status()
                    : port_.Failure(error, Format("posting a request of {} bytes", wanted.bytes));
}

Status VerbsRcQueuePairs::PostReceive(ibv_sge& piece, const WorkRequest& wanted) {
  ibv_recv_wr request{};
  request.wr_id = wanted.id | std::uint64_t{wanted.queue_pair} << kPairShift | kReceive;
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  const int error = ibv_post_recv(pairs_[wanted.queue_pair].get(), &request, &bad);
  return error == 0 ? Status()
                    : port_.Failure(error, Format("posting a receive of {} bytes", wanted.bytes));
}

Result<std::size_t> VerbsRcQueuePairs::Poll(std::span<Completion> completions) {
  std::array<ibv_wc, 16> found;
  const auto wanted = static_cast<int>(std::min(found.size(), completions.size()));
  const int count = ibv_poll_cq(queue_.get(), wanted, found.data());
  if (count < 0) return port_.Failure(errno, "polling the completion queue");
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    completions[i].work_request_id = found[i].wr_id & kIdMask;
    completions[i].queue_pair =
        static_cast<std::uint32_t>((found[i].wr_id & ~kReceive) >> kPairShift);
    completions[i].received = (found[i].wr_id & kReceive) != 0;
    completions[i].ok = found[i].status == IBV_WC_SUCCESS;
    if (completions[i].ok) continue;
    completions[i].error = CompletionError(found[i].status, found[i].vendor_err);
    completions[i].failed_by = FailedByOf(found[i].status);
  }
  return static_cast<std::size_t>(count);
}

}  // namespace

Result<std::unique_ptr<RcQueuePairs>> OpenRcQueuePairs(const RcOptions& options) {
  auto pairs = std::make_unique<VerbsRcQueuePairs>(options);
  RETURN_IF_ERROR(pairs->Open());
  return std::unique_ptr<RcQueuePairs>(std::move(pairs));
}

}  // namespace fabric::host
