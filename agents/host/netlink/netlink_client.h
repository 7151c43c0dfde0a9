// Netlink client: requests to the kernel over one socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/host/netlink/netlink_reader.h"
#include "base/status.h"

struct nl_msg;
struct nlattr;
struct nl_sock;

namespace fabric::host {

// One request: family header, then attributes.
class NetlinkRequest {
 public:
  // `flags` in addition to NLM_F_REQUEST: 0, or NLM_F_DUMP for all objects.
  NetlinkRequest(int type, int flags);

  template <class Struct>
  NetlinkRequest& Header(const Struct& header) {
    return Append(&header, sizeof(header));
  }
  NetlinkRequest& Number(int attribute, std::uint32_t value);
  NetlinkRequest& Byte(int attribute, std::uint8_t value);
  NetlinkRequest& Text(int attribute, const std::string& value);
  // A nested attribute: those between Begin() and End(). One level.
  NetlinkRequest& Begin(int attribute);
  NetlinkRequest& End();

  // The finished message with its sequence number. RESOURCE_EXHAUSTED without memory.
  Result<Bytes> Finish(std::uint32_t sequence);

  // Name for a WatchedCall: "eth0/netlink 78".
  std::string name() const;

 private:
  struct Free {
    void operator()(nl_msg* message) const;
  };

  NetlinkRequest& Append(const void* header, std::size_t size);

  const int type_;
  std::unique_ptr<nl_msg, Free> message_;
  nlattr* nested_ = nullptr;
  bool complete_ = true;
  std::string subject_;  // Values of the attributes, each followed by a slash
};

class NetlinkSocket {
 public:
  // UNIMPLEMENTED when the kernel does not have this family.
  static Result<NetlinkSocket> Open(int family);

  // A datagram socket with a fake kernel at its other end. Borrowed.
  explicit NetlinkSocket(int fd) : fd_(fd) {}

  // Sends the request and appends all reply datagrams to `reply`, each padded to a multiple of 4
  // bytes: up to the end of a dump, or one message. Errors from the kernel are part of the reply:
  // see ForEachReply(). DEADLINE_EXCEEDED; UNAVAILABLE when the reply was lost or a dump is
  // inconsistent: retry. After a failure the socket may contain the rest of the reply.
  Status Ask(NetlinkRequest& request, std::chrono::steady_clock::time_point deadline,
             std::vector<std::byte>& reply);

 private:
  struct Free {
    void operator()(nl_sock* socket) const;
  };
  enum class Progress { kMore, kComplete };

  NetlinkSocket(std::unique_ptr<nl_sock, Free> socket, int fd)
      : socket_(std::move(socket)), fd_(fd) {}

  Status Send(Bytes message) const;
  Status Await(std::chrono::steady_clock::time_point deadline) const;
  Result<Bytes> Receive();
  Result<Progress> Judge(Bytes datagram, std::uint32_t sequence, bool& ours) const;

  std::unique_ptr<nl_sock, Free> socket_;
  int fd_;
  std::uint32_t sequence_ = 0;
  std::vector<std::byte> buffer_;
};

// Opens a socket for the first request and after a failure, to discard the rest of a broken reply.
// One thread at a time.
class NetlinkClient {
 public:
  using Opener = std::function<Result<NetlinkSocket>()>;

  explicit NetlinkClient(Opener open) : open_(std::move(open)) {}

  // All reply datagrams, valid until the next request. Takes at most 1 s.
  Result<Bytes> Ask(NetlinkRequest& request);

  // The parsed reply. Errors start with `doing`.
  template <class T>
  Result<T> Ask(NetlinkRequest& request, std::string_view doing, Result<T> (*parse)(Bytes)) {
    const Result<Bytes> reply = Ask(request);
    if (!reply.ok()) return reply.status().In(doing);
    Result<T> parsed = parse(*reply);
    if (!parsed.ok()) return parsed.status().In(doing);
    return parsed;
  }

 private:
  Opener open_;
  std::optional<NetlinkSocket> socket_;
  std::vector<std::byte> reply_;
};

}  // namespace fabric::host
