// What both ends of a pair share: one TCP connection with a JSON object in each line, and the port
// that is used. Failures end the program.
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/text.h"
#include "fabric/v1/inventory.pb.h"
#include "proto/json.h"

namespace fabric {

[[noreturn]] inline void Die(const std::string& why) {
  std::fputs(Format("{}: {}\n", program_invocation_short_name, why).c_str(), stderr);
  std::_Exit(1);
}

// To the server, or without one from the first client that comes.
inline int Connected(const char* server, std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (server != nullptr) {
    if (inet_pton(AF_INET, server, &address.sin_addr) != 1) Die("expected an IPv4 address");
    if (connect(socket, raw, sizeof address) != 0) Die("cannot connect");
    return socket;
  }
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(socket, raw, sizeof address) != 0 || listen(socket, 1) != 0) Die("cannot listen");
  return accept(socket, nullptr, nullptr);
}

// Lines over a connected socket.
class Lines {
 public:
  explicit Lines(int socket) : socket_(socket) {}

  void Send(const std::string& line) {
    const std::string bytes = line + "\n";
    if (write(socket_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      Die("the partner is gone");
  }
  // Empty at the end of the connection.
  std::optional<std::string> Next() {
    std::array<char, 4096> piece;
    while (true) {
      if (const auto end = read_.find('\n'); end != std::string::npos) {
        const std::string line = read_.substr(0, end);
        read_.erase(0, end + 1);
        return line;
      }
      const ssize_t count = read(socket_, piece.data(), piece.size());
      if (count <= 0) return std::nullopt;
      read_.append(piece.data(), static_cast<std::size_t>(count));
    }
  }
  template <class Message>
  Message Await() {
    const auto line = Next();
    Message message;
    if (!line || !FromJson(*line, message).ok()) Die("the partner said something else");
    return message;
  }

 private:
  const int socket_;
  std::string read_;
};

// The port that is used, as an inspection would tell it.
inline v1::RdmaDevice DeviceWithGid(const std::string& name, std::uint32_t gid_index,
                                    const std::string& gid) {
  v1::RdmaDevice device;
  device.set_name(name);
  v1::Port& port = *device.add_ports();
  port.set_number(1);
  port.set_state(v1::PORT_STATE_ACTIVE);
  port.set_link_layer(v1::LINK_LAYER_ETHERNET);
  v1::Gid& entry = *port.add_gids();
  entry.set_index(gid_index);
  entry.set_gid(gid);
  entry.set_type(v1::GID_TYPE_ROCE_V2);
  return device;
}

}  // namespace fabric
