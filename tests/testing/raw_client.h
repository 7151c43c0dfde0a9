// A TCP client that sends and reads bytes, for tests of HTTP servers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fabric::testing {

class RawClient {
 public:
  // Connects to the port on 127.0.0.1; a failure shows as an empty answer.
  explicit RawClient(std::uint16_t port);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // False when the other end has closed.
  bool Send(std::string_view bytes);
  // Appends what comes until `text` has come; returns all that has come so far. The test fails if
  // the other end closes first, or if a minute passes without a byte.
  std::string ReadUntil(std::string_view text);
  // Until the other end closes.
  std::string ReadToEnd() { return ReadUntil({}); }

 private:
  int fd_ = -1;
  std::string seen_;
};

// The whole answer to one request on a connection of its own.
std::string HttpExchange(std::uint16_t port, std::string_view request);
// The same for "GET target".
std::string HttpGet(std::uint16_t port, std::string_view target);
// What follows the empty line.
std::string HttpBody(const std::string& answer);

}  // namespace fabric::testing
