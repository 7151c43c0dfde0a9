#include "tests/testing/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <gtest/gtest.h>

namespace fabric::testing {

RawClient::RawClient(std::uint16_t port) {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{.tv_sec = 60, .tv_usec = 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    close(fd_);
    fd_ = -1;
  }
}

RawClient::~RawClient() {
  if (fd_ >= 0) close(fd_);
}

bool RawClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string RawClient::ReadUntil(std::string_view text) {
  while (text.empty() || seen_.find(text) == seen_.npos) {
    char bytes[4096];
    const ssize_t got = recv(fd_, bytes, sizeof(bytes), 0);
    if (got <= 0) {
      const bool open = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
      if (open || !text.empty())
        ADD_FAILURE() << (open ? "nothing more came in time" : "the other end closed")
                      << "; expected " << (text.empty() ? "the end" : text) << ", seen: "
                      << seen_.substr(seen_.size() - std::min<std::size_t>(seen_.size(), 500));
      break;
    }
    seen_.append(bytes, static_cast<std::size_t>(got));
  }
  return seen_;
}

std::string HttpExchange(std::uint16_t port, std::string_view request) {
  RawClient client(port);
  client.Send(request);
  return client.ReadToEnd();
}

std::string HttpGet(std::uint16_t port, std::string_view target) {
  return HttpExchange(port, "GET " + std::string(target) +
                                " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
}

std::string HttpBody(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == answer.npos ? "" : answer.substr(end + 4);
}

}  // namespace fabric::testing
