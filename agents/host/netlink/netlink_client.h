// Questions to the kernel over one netlink socket that stays open.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/host/netlink/netlink_reader.h"
#include "base/status.h"

struct nl_msg;
struct nl_sock;

namespace fabric::host {

// One question: header of the family, then attributes.
class NetlinkRequest {
 public:
  // `flags` beside NLM_F_REQUEST: 0, or NLM_F_DUMP for all there is.
  NetlinkRequest(int type, int flags);

  template <class Struct>
  NetlinkRequest& Header(const Struct& header) {
    return Append(&header, sizeof(header));
  }
  NetlinkRequest& Number(int attribute, std::uint32_t value);
  NetlinkRequest& Text(int attribute, const std::string& value);

  // The finished message with its sequence number. RESOURCE_EXHAUSTED when there was no memory.
  Result<Bytes> Finish(std::uint32_t sequence);

  // What it is about, for a WatchedCall: "eth0/netlink 78".
  std::string name() const;

 private:
  struct Free {
    void operator()(nl_msg* message) const;
  };

  NetlinkRequest& Append(const void* header, std::size_t size);

  const int type_;
  std::unique_ptr<nl_msg, Free> message_;
  bool complete_ = true;
  std::string subject_;  // Values of the attributes, each with a slash behind it
};

class NetlinkSocket {
 public:
  // UNIMPLEMENTED when the kernel does not have this family.
  static Result<NetlinkSocket> Open(int family);

  // Any other datagram socket with a kernel of sorts at its other end. Borrowed.
  explicit NetlinkSocket(int fd) : fd_(fd) {}

  // Sends the request and appends all datagrams that answer it to `reply`, each filled up to a
  // multiple of 4 bytes: up to the end of the dump, or to the one message that answers anything
  // else. Refusals of the kernel are part of the answer; ForEachReply() finds them.
  // DEADLINE_EXCEEDED; UNAVAILABLE when the answer was lost or the dump says of itself that
  // it is inconsistent: ask again. After a failure the socket may hold remains of the answer.
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

// A socket that is opened by the first question, and again after a failure: what is left of a
// broken answer goes away with the old one. One thread at a time.
class NetlinkClient {
 public:
  using Opener = std::function<Result<NetlinkSocket>()>;

  explicit NetlinkClient(Opener open) : open_(std::move(open)) {}

  // All datagrams that answer `request`, valid until the next question. Takes a second at most.
  Result<Bytes> Ask(NetlinkRequest& request);

 private:
  Opener open_;
  std::optional<NetlinkSocket> socket_;
  std::vector<std::byte> reply_;
};

}  // namespace fabric::host
