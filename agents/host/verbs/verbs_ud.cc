// UdQueuePairs with libibverbs.
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <utility>

#include "agents/host/verbs/tick_clock.h"
#include "agents/host/verbs/verbs_queue_pairs.h"
#include "base/mutex.h"
#include "base/text.h"

namespace fabric::host {
namespace {

constexpr std::uint32_t kHeaderBytes = 40;   // Of the GRH, or its place, before what arrives
constexpr std::uint32_t kInlineBytes = 188;  // As perftest asks for.
// The upper half of keys is for privileged programs.
constexpr std::uint32_t kQueueKeyMask = 0x7fffffff;
// rdma_rxe's own (drivers/infiniband/sw/rxe/rxe_param.h): it takes the source port of a packet from
// the number of the queue pair, regardless of the address handle (rxe_qp.c, rxe_qp_init_req).
constexpr std::uint32_t kSoftRoceVendor = 0xffffff;
constexpr std::uint64_t kUdReceive = std::uint64_t{1} << 63;

using HandlePtr = std::unique_ptr<ibv_ah, VerbsDelete<&ibv_destroy_ah>>;

struct DestroyExtended {
  void operator()(ibv_cq_ex* queue) const { ibv_destroy_cq(ibv_cq_ex_to_cq(queue)); }
};
using ExtendedQueuePtr = std::unique_ptr<ibv_cq_ex, DestroyExtended>;
using ChannelPtr = std::unique_ptr<ibv_comp_channel, VerbsDelete<&ibv_destroy_comp_channel>>;

std::uint64_t SoftwareTicks() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

class VerbsUdQueuePairs final : public UdQueuePairs {
 public:
  explicit VerbsUdQueuePairs(UdOptions options) : options_(std::move(options)) {}

  Status Open();

  const Endpoint& local() const override { return local_; }
  bool queue_pair_per_flow() const override { return pair_per_flow_; }
  bool hardware_clock() const override { return extended_ != nullptr; }
  Duration Elapsed(std::uint64_t from, std::uint64_t to) const override {
    if (hardware_clock()) return clock_.Elapsed(from, to);
    return Duration(static_cast<std::int64_t>(to - from));
  }
  Result<std::uint32_t> AddPath(const Endpoint& remote, const UdPath& path) override;
  void RemovePath(std::uint32_t path) override;
  Status Send(std::uint32_t path, std::span<const std::byte> payload,
              const UdSend& options) override;
  Result<std::size_t> Poll(std::span<Datagram> datagrams) override;
  Status Arm(UdEvents events) override;
  int event_fd() const override { return channel_ == nullptr ? -1 : channel_->fd; }

 private:
  struct Path {
    HandlePtr handle;
    ibv_qp* pair = nullptr;
    std::uint32_t remote_number = 0;
    std::uint32_t remote_key = 0;
    std::uint32_t sending = 0;
    bool removed = false;  // To be freed when nothing is being sent over it
  };

  Status OpenQueue();
  Status OpenChannel();
  ibv_cq* queue() const { return extended_ ? ibv_cq_ex_to_cq(extended_.get()) : plain_.get(); }
  void FreeIfUnused(std::uint32_t path) REQUIRES(mutex_);
  Status OpenPair(std::uint32_t n);
  Status ToReady(ibv_qp& pair);
  Status PostReceive(std::uint64_t slot);
  std::size_t pairs_wanted() const { return pair_per_flow_ ? options_.flows : 1; }
  std::uint32_t receive_bytes() const { return kHeaderBytes + options_.payload_bytes_max; }
  // Slots of the memory: first those that are sent from, then those of each queue pair's receives.
  std::byte* SendSlot(std::size_t n) const {
    return memory_.bytes.get() + n * options_.payload_bytes_max;
  }
  std::byte* ReceiveSlot(std::size_t n) const {
    return SendSlot(options_.sends_max) + n * receive_bytes();
  }
  Result<std::size_t> PollPlain(std::span<Datagram> datagrams);
  Result<std::size_t> PollExtended(std::span<Datagram> datagrams);
  void Take(std::uint64_t work_request, std::uint32_t bytes, Datagram& datagram);

  const UdOptions options_;
  // Destroyed from the last to the first.
  VerbsPortSide port_;
  VerbsMemory memory_;
  ChannelPtr channel_;
  QueuePtr plain_;  // One of these two
  ExtendedQueuePtr extended_;
  std::vector<PairPtr> pairs_;
  Mutex mutex_;
  std::vector<Path> paths_ GUARDED_BY(mutex_);
  std::vector<std::uint32_t> free_paths_ GUARDED_BY(mutex_);
  std::optional<UdEvents> armed_;
  TickClock clock_;
  bool pair_per_flow_ = false;
  std::uint32_t inline_bytes_ = 0;
  Endpoint local_;
  std::vector<std::uint64_t> sent_ids_;    // By slot
  std::vector<std::uint32_t> sent_paths_;  // By slot
  std::vector<std::uint32_t> free_sends_;  // Slots
  std::vector<std::uint64_t> polled_;      // Receive slots that the caller still looks at
};

Status VerbsUdQueuePairs::Open() {
  RETURN_IF_ERROR(port_.Open(options_.at));
  pair_per_flow_ = options_.flows > 1 && port_.limits().vendor_id == kSoftRoceVendor;
  const std::size_t receives = pairs_wanted() * options_.receives_max;
  ASSIGN_OR_RETURN(
      memory_, VerbsMemory::Register(port_,
                                     std::size_t{options_.sends_max} * options_.payload_bytes_max +
                                         receives * receive_bytes(),
                                     IBV_ACCESS_LOCAL_WRITE));
  local_ = port_.address();
  local_.queue_key = static_cast<std::uint32_t>(std::random_device()()) & kQueueKeyMask;
  sent_ids_.resize(options_.sends_max);
  sent_paths_.resize(options_.sends_max);
  for (std::uint32_t n = options_.sends_max; n > 0; --n) free_sends_.push_back(n - 1);
  RETURN_IF_ERROR(OpenQueue());
  for (std::uint32_t n = 0; n < pairs_wanted(); ++n) RETURN_IF_ERROR(OpenPair(n));
  return {};
}

Status VerbsUdQueuePairs::OpenChannel() {
  channel_.reset(ibv_create_comp_channel(&port_.context()));
  if (channel_ == nullptr) return port_.Failure(errno, "completion channel");
  const int flags = ::fcntl(channel_->fd, F_GETFL);
  if (flags >= 0 && ::fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) == 0) return {};
  return port_.Failure(errno, "completion channel that does not block");
}

Status VerbsUdQueuePairs::OpenQueue() {
  if (options_.events) RETURN_IF_ERROR(OpenChannel());
  const std::size_t wanted = options_.sends_max + pairs_wanted() * options_.receives_max;
  const auto entries = std::min(static_cast<int>(wanted), std::max(port_.limits().max_cqe, 1));
  ibv_device_attr_ex more{};
  if (ibv_query_device_ex(&port_.context(), nullptr, &more) == 0)
    clock_ = {.mask = more.completion_timestamp_mask, .kilohertz = more.hca_core_clock};
  if (clock_.usable()) {
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = static_cast<std::uint32_t>(entries);
    attributes.channel = channel_.get();
    attributes.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_BYTE_LEN;
    extended_.reset(ibv_create_cq_ex(&port_.context(), &attributes));
    if (extended_ != nullptr) return {};
  }
  plain_.reset(ibv_create_cq(&port_.context(), entries, nullptr, channel_.get(), 0));
  return plain_ == nullptr ? port_.Failure(errno, Format("completion queue of {}", entries))
                           : Status();
}

Status VerbsUdQueuePairs::OpenPair(std::uint32_t n) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = queue();
  attributes.recv_cq = queue();
  attributes.qp_type = IBV_QPT_UD;
  attributes.cap = {.max_send_wr = options_.sends_max,
                    .max_recv_wr = options_.receives_max,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = std::min(kInlineBytes, options_.payload_bytes_max)};
  PairPtr pair(ibv_create_qp(&port_.domain(), &attributes));
  if (pair == nullptr) {
    attributes.cap.max_inline_data = 0;
    pair.reset(ibv_create_qp(&port_.domain(), &attributes));
  }
  if (pair == nullptr)
    return port_.Failure(errno, Format("datagram queue pair {} of {}", n + 1, pairs_wanted()));
  inline_bytes_ = std::min(kInlineBytes, attributes.cap.max_inline_data);
  local_.queue_pairs.push_back({.number = pair->qp_num, .packet_sequence_number = 0});
  pairs_.push_back(std::move(pair));
  RETURN_IF_ERROR(ToReady(*pairs_.back()));
  for (std::uint32_t slot = 0; slot < options_.receives_max; ++slot)
    RETURN_IF_ERROR(PostReceive(std::uint64_t{n} * options_.receives_max + slot));
  return {};
}

Status VerbsUdQueuePairs::ToReady(ibv_qp& pair) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = port_.pkey_index();
  attributes.port_num = port_.number();
  attributes.qkey = local_.queue_key;
  if (const int error = ibv_modify_qp(&pair, &attributes,
                                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
    return port_.Failure(error, "datagram queue pair to INIT");
  attributes.qp_state = IBV_QPS_RTR;
  if (const int error = ibv_modify_qp(&pair, &attributes, IBV_QP_STATE))
    return port_.Failure(error, "datagram queue pair to RTR");
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = 0;
  const int error = ibv_modify_qp(&pair, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN);
  return error == 0 ? Status() : port_.Failure(error, "datagram queue pair to RTS");
}

Status VerbsUdQueuePairs::PostReceive(std::uint64_t slot) {
  ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(ReceiveSlot(slot)),
                .length = receive_bytes(),
                .lkey = memory_.region->lkey};
  ibv_recv_wr request{};
  request.wr_id = kUdReceive | slot;
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  const int error = ibv_post_recv(pairs_[slot / options_.receives_max].get(), &request, &bad);
  return error == 0 ? Status() : port_.Failure(error, "posting a receive of a datagram");
}

Result<std::uint32_t> VerbsUdQueuePairs::AddPath(const Endpoint& remote, const UdPath& wanted) {
  if (remote.queue_pairs.empty())
    return Status(Code::kFailedPrecondition, "the partner has no queue pair for datagrams");
  ASSIGN_OR_RETURN(ibv_ah_attr address,
                   port_.AddressOf(remote, {.service_level = wanted.service_level,
                                            .flow_label = wanted.flow_label,
                                            .traffic_class = wanted.traffic_class}));
  Path path{.handle = HandlePtr(ibv_create_ah(&port_.domain(), &address)),
            .pair = pairs_[wanted.flow % pairs_.size()].get(),
            .remote_number = remote.queue_pairs[wanted.flow % remote.queue_pairs.size()].number,
            .remote_key = remote.queue_key};
  if (path.handle == nullptr)
    return port_.Failure(errno, Format("address handle towards GID {}", remote.gid));
  const MutexLock lock(mutex_);
  if (free_paths_.empty()) {
    paths_.push_back(std::move(path));
    return static_cast<std::uint32_t>(paths_.size() - 1);
  }
  const std::uint32_t number = free_paths_.back();
  free_paths_.pop_back();
  paths_[number] = std::move(path);
  return number;
}

void VerbsUdQueuePairs::RemovePath(std::uint32_t path) {
  const MutexLock lock(mutex_);
  paths_[path].removed = true;
  FreeIfUnused(path);
}

void VerbsUdQueuePairs::FreeIfUnused(std::uint32_t path) {
  if (!paths_[path].removed || paths_[path].sending > 0) return;
  paths_[path] = {};
  free_paths_.push_back(path);
}

Status VerbsUdQueuePairs::Send(std::uint32_t path, std::span<const std::byte> payload,
                               const UdSend& options) {
  if (payload.size() > options_.payload_bytes_max)
    return {Code::kInvalidArgument, Format("a datagram of {} bytes, expected at most {}",
                                           payload.size(), options_.payload_bytes_max)};
  if (free_sends_.empty())
    return {Code::kResourceExhausted, Format("{} datagrams are being sent", options_.sends_max)};
  const std::uint32_t slot = free_sends_.back();
  const MutexLock lock(mutex_);
  Path& way = paths_[path];
  std::memcpy(SendSlot(slot), payload.data(), payload.size());
  ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(SendSlot(slot)),
                .length = static_cast<std::uint32_t>(payload.size()),
                .lkey = memory_.region->lkey};
  ibv_send_wr request{};
  request.wr_id = slot;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  if (payload.size() <= inline_bytes_) request.send_flags |= IBV_SEND_INLINE;
  if (options.solicited) request.send_flags |= IBV_SEND_SOLICITED;
  request.wr.ud = {
      .ah = way.handle.get(), .remote_qpn = way.remote_number, .remote_qkey = way.remote_key};
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(way.pair, &request, &bad))
    return port_.Failure(error, Format("posting a datagram of {} bytes", payload.size()));
  free_sends_.pop_back();
  sent_ids_[slot] = options.id;
  sent_paths_[slot] = path;
  ++way.sending;
  return {};
}

Result<std::size_t> VerbsUdQueuePairs::Poll(std::span<Datagram> datagrams) {
  for (const std::uint64_t slot : polled_) RETURN_IF_ERROR(PostReceive(slot));
  polled_.clear();
  return extended_ ? PollExtended(datagrams) : PollPlain(datagrams);
}

Result<std::size_t> VerbsUdQueuePairs::PollPlain(std::span<Datagram> datagrams) {
  std::array<ibv_wc, 16> found;
  const int count = ibv_poll_cq(
      plain_.get(), static_cast<int>(std::min(found.size(), datagrams.size())), found.data());
  if (count < 0) return port_.Failure(errno, "polling the completion queue");
  const std::uint64_t now = count > 0 ? SoftwareTicks() : 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    datagrams[i] = {.ok = found[i].status == IBV_WC_SUCCESS, .ticks = now};
    if (!datagrams[i].ok)
      datagrams[i].error = CompletionError(found[i].status, found[i].vendor_err);
    Take(found[i].wr_id, found[i].byte_len, datagrams[i]);
  }
  return static_cast<std::size_t>(count);
}

Result<std::size_t> VerbsUdQueuePairs::PollExtended(std::span<Datagram> datagrams) {
  ibv_cq_ex& queue = *extended_;
  ibv_poll_cq_attr attributes{};
  if (datagrams.empty()) return 0;
  int error = ibv_start_poll(&queue, &attributes);
  if (error == ENOENT) return 0;  // Nothing is there, and there is nothing to end.
  if (error != 0) return port_.Failure(error, "polling the completion queue");
  std::size_t count = 0;
  while (error == 0) {
    Datagram& datagram = datagrams[count++];
    datagram = {.ok = queue.status == IBV_WC_SUCCESS};
    if (datagram.ok)
      datagram.ticks = ibv_wc_read_completion_ts(&queue);
    else
      datagram.error = CompletionError(queue.status, ibv_wc_read_vendor_err(&queue));
    Take(queue.wr_id, datagram.ok ? ibv_wc_read_byte_len(&queue) : 0, datagram);
    if (count == datagrams.size()) break;
    error = ibv_next_poll(&queue);
  }
  ibv_end_poll(&queue);
  if (error != 0 && error != ENOENT) return port_.Failure(error, "polling the completion queue");
  return count;
}

Status VerbsUdQueuePairs::Arm(UdEvents events) {
  ibv_cq* about = nullptr;
  void* unused = nullptr;
  if (armed_) {
    // One event for each time that it was armed: while none is there it still is.
    if (ibv_get_cq_event(channel_.get(), &about, &unused) == 0)
      ibv_ack_cq_events(about, 1);
    else if (*armed_ == UdEvents::kAll || events == *armed_)
      return {};
  }
  if (const int error = ibv_req_notify_cq(queue(), events == UdEvents::kSolicited ? 1 : 0))
    return port_.Failure(error, "asking for an event of the completion queue");
  armed_ = events;
  return {};
}

// Sets the members encoded in the work request id.
void VerbsUdQueuePairs::Take(std::uint64_t work_request, std::uint32_t bytes, Datagram& datagram) {
  datagram.arrived = (work_request & kUdReceive) != 0;
  const std::uint64_t slot = work_request & ~kUdReceive;
  if (!datagram.arrived) {
    datagram.id = sent_ids_[slot];
    free_sends_.push_back(static_cast<std::uint32_t>(slot));
    const MutexLock lock(mutex_);
    --paths_[sent_paths_[slot]].sending;
    FreeIfUnused(sent_paths_[slot]);
    return;
  }
  if (datagram.ok && bytes > kHeaderBytes)
    datagram.payload = {ReceiveSlot(slot) + kHeaderBytes, bytes - kHeaderBytes};
  polled_.push_back(slot);
}

}  // namespace

Result<std::unique_ptr<UdQueuePairs>> OpenUdQueuePairs(const UdOptions& options) {
  auto pairs = std::make_unique<VerbsUdQueuePairs>(options);
  RETURN_IF_ERROR(pairs->Open());
  return std::unique_ptr<UdQueuePairs>(std::move(pairs));
}

}  // namespace fabric::host
