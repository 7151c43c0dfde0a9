#include "agents/host/netlink/netlink_client.h"

#include <linux/netlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "agents/host/call_watch.h"
#include "base/text.h"

namespace fabric::host {
namespace {

using std::chrono::steady_clock;

constexpr auto kAnswerTimeMax = std::chrono::seconds(1);
constexpr int kTriesMax = 3;
constexpr std::size_t kRequestBytesMax = 512;
// The kernel fills datagrams of a dump up to 32 KiB; single answers stay below that.
constexpr std::size_t kDatagramBytesMax = 64 << 10;
constexpr std::size_t kReplyBytesMax = 16 << 20;

Status FromLibnl(int error, std::string_view what) {
  const Code code = [&] {
    switch (-error) {
      case NLE_PROTO_MISMATCH:  // EPROTONOSUPPORT
      case NLE_AF_NOSUPPORT:
      case NLE_OPNOTSUPP: return Code::kUnimplemented;
      case NLE_PERM:
      case NLE_NOACCESS: return Code::kPermissionDenied;
      case NLE_NOMEM: return Code::kResourceExhausted;
      default: return Code::kUnavailable;
    }
  }();
  return {code, Format("{}: {}", what, nl_geterror(error))};
}

}  // namespace

void NetlinkRequest::Free::operator()(nl_msg* message) const {
  nlmsg_free(message);
}

NetlinkRequest::NetlinkRequest(int type, int flags)
    : type_(type), message_(nlmsg_alloc_size(kRequestBytesMax)) {
  complete_ = message_ != nullptr && nlmsg_put(message_.get(), NL_AUTO_PORT, NL_AUTO_SEQ, type, 0,
                                               flags | NLM_F_REQUEST) != nullptr;
}

NetlinkRequest& NetlinkRequest::Append(const void* header, std::size_t size) {
  complete_ = complete_ &&
              nlmsg_append(message_.get(), const_cast<void*>(header), size, NLMSG_ALIGNTO) == 0;
  return *this;
}

NetlinkRequest& NetlinkRequest::Number(int attribute, std::uint32_t value) {
  complete_ = complete_ && nla_put_u32(message_.get(), attribute, value) == 0;
  subject_ += std::to_string(value) + "/";
  return *this;
}

NetlinkRequest& NetlinkRequest::Text(int attribute, const std::string& value) {
  complete_ = complete_ && nla_put_string(message_.get(), attribute, value.c_str()) == 0;
  subject_ += value + "/";
  return *this;
}

NetlinkRequest& NetlinkRequest::Byte(int attribute, std::uint8_t value) {
  complete_ = complete_ && nla_put_u8(message_.get(), attribute, value) == 0;
  return *this;
}

NetlinkRequest& NetlinkRequest::Begin(int attribute) {
  nested_ = complete_ ? nla_nest_start(message_.get(), attribute | NLA_F_NESTED) : nullptr;
  complete_ = nested_ != nullptr;
  return *this;
}

NetlinkRequest& NetlinkRequest::End() {
  complete_ = complete_ && nla_nest_end(message_.get(), nested_) >= 0;
  return *this;
}

Result<Bytes> NetlinkRequest::Finish(std::uint32_t sequence) {
  if (!complete_) return Status(Code::kResourceExhausted, "netlink: no memory for the request");
  nlmsghdr* const header = nlmsg_hdr(message_.get());
  header->nlmsg_seq = sequence;
  header->nlmsg_pid = 0;  // The kernel puts our address into its answers by itself.
  return Bytes(reinterpret_cast<const std::byte*>(header), header->nlmsg_len);
}

std::string NetlinkRequest::name() const {
  return Format("{}netlink {}", subject_, type_);
}

void NetlinkSocket::Free::operator()(nl_sock* socket) const {
  nl_socket_free(socket);
}

Result<NetlinkSocket> NetlinkSocket::Open(int family) {
  std::unique_ptr<nl_sock, Free> socket(nl_socket_alloc());
  if (socket == nullptr) return Status(Code::kResourceExhausted, "netlink: no memory for a socket");
  if (const int error = nl_connect(socket.get(), family); error < 0)
    return FromLibnl(error, Format("opening a netlink socket of family {}", family));
  if (const int error = nl_socket_set_nonblocking(socket.get()); error < 0)
    return FromLibnl(error, "making a netlink socket non-blocking");
  const int fd = nl_socket_get_fd(socket.get());
  return NetlinkSocket(std::move(socket), fd);
}

Status NetlinkSocket::Send(Bytes message) const {
  ssize_t sent = 0;
  do {
    sent = ::send(fd_, message.data(), message.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent < 0 ? FromErrno(errno, "sending to the kernel") : Status();
}

Status NetlinkSocket::Await(steady_clock::time_point deadline) const {
  for (;;) {
    const auto left = std::min<std::chrono::milliseconds>(
        std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()),
        kAnswerTimeMax);
    if (left.count() <= 0)
      return {Code::kDeadlineExceeded, "the kernel did not answer within a second"};
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return FromErrno(errno, "waiting for the kernel");
  }
}

// One datagram; empty when there is none after all, or when it is not from the kernel.
Result<Bytes> NetlinkSocket::Receive() {
  buffer_.resize(kDatagramBytesMax);
  sockaddr_nl sender{};
  iovec room{.iov_base = buffer_.data(), .iov_len = buffer_.size()};
  msghdr message{};
  message.msg_name = &sender;
  message.msg_namelen = sizeof(sender);
  message.msg_iov = &room;
  message.msg_iovlen = 1;
  const ssize_t size = ::recvmsg(fd_, &message, 0);
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return Bytes();
  if (size < 0 && errno == ENOBUFS)
    return Status(Code::kUnavailable, "an answer of the kernel was lost: receive buffer full");
  if (size < 0) return FromErrno(errno, "receiving from the kernel");
  if (size == 0) return Status(Code::kUnavailable, "the netlink socket is closed");
  if ((message.msg_flags & MSG_TRUNC) != 0)
    return Status(Code::kDataLoss,
                  Format("an answer of the kernel is over {} bytes long", kDatagramBytesMax));
  if (sender.nl_family == AF_NETLINK && sender.nl_pid != 0) return Bytes();
  return Bytes(buffer_.data(), static_cast<std::size_t>(size));
}

// Whether `datagram` answers the question `sequence` (`ours`), and whether it is the last that
// does.
Result<NetlinkSocket::Progress> NetlinkSocket::Judge(Bytes datagram, std::uint32_t sequence,
                                                     bool& ours) const {
  Progress progress = Progress::kMore;
  ours = false;
  NetlinkMessage message;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, NextMessage(datagram, message));
    if (!more) return progress;
    if (message.sequence != sequence) continue;  // Reply to an abandoned request
    ours = true;
    if ((message.flags & NLM_F_DUMP_INTR) != 0)
      return Status(Code::kUnavailable, "the kernel's tables changed while it listed them");
    if (message.type == NLMSG_DONE || message.type == NLMSG_ERROR ||
        ((message.flags & NLM_F_MULTI) == 0 && message.type != NLMSG_NOOP))
      progress = Progress::kComplete;
  }
}

Status NetlinkSocket::Ask(NetlinkRequest& request, steady_clock::time_point deadline,
                          std::vector<std::byte>& reply) {
  const std::uint32_t sequence = ++sequence_;
  ASSIGN_OR_RETURN(const Bytes message, request.Finish(sequence));
  RETURN_IF_ERROR(Send(message));
  for (;;) {
    RETURN_IF_ERROR(Await(deadline));
    ASSIGN_OR_RETURN(const Bytes datagram, Receive());
    bool ours = false;
    ASSIGN_OR_RETURN(const Progress progress, Judge(datagram, sequence, ours));
    if (!ours) continue;
    reply.insert(reply.end(), datagram.begin(), datagram.end());
    reply.resize(NLMSG_ALIGN(reply.size()));
    if (progress == Progress::kComplete) return {};
    if (reply.size() > kReplyBytesMax)
      return {Code::kResourceExhausted,
              Format("an answer of the kernel is over {} bytes long", kReplyBytesMax)};
  }
}

Result<Bytes> NetlinkClient::Ask(NetlinkRequest& request) {
  const WatchedCall call([&] { return request.name(); });
  RETURN_IF_ERROR(call.status());
  const auto deadline = steady_clock::now() + kAnswerTimeMax;
  Status failure;
  for (int i = 0; i < kTriesMax; ++i) {
    if (!socket_.has_value()) {
      ASSIGN_OR_RETURN(socket_, open_());
    }
    reply_.clear();
    failure = socket_->Ask(request, deadline, reply_);
    if (failure.ok()) return Bytes(reply_);
    socket_.reset();
    if (failure.code() != Code::kUnavailable) break;
  }
  return failure;
}

}  // namespace fabric::host
