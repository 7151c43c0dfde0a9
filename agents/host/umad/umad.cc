#include "agents/host/umad/umad.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/ib_user_mad.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace fabric::host {
namespace {

constexpr const char* kClass = "/sys/class/infiniband_mad";
constexpr std::uint32_t kQueueKey = 0x80010000;
constexpr std::uint8_t kPerformanceClass = 0x04;
constexpr std::uint8_t kNvidiaClass = 0x0a;

// umad2sim of ibsim replaces open(), opendir(), read(), write(), poll() and ioctl(), and no others.
Result<std::string> ReadAttribute(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FromErrno(errno, path);
  char text[256];
  const ssize_t size = read(fd, text, sizeof(text));
  const int error = errno;
  close(fd);
  if (size < 0) return FromErrno(error, path);
  return std::string(Trim(std::string_view(text, static_cast<std::size_t>(size))));
}

class KernelUmad final : public Umad {
 public:
  KernelUmad(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~KernelUmad() override { close(fd_); }
  KernelUmad(const KernelUmad&) = delete;
  KernelUmad& operator=(const KernelUmad&) = delete;

  Status Register() {
    ioctl(fd_, IB_USER_MAD_ENABLE_PKEY);
    ASSIGN_OR_RETURN(directed_, RegisterClass(0, 0x81));
    ASSIGN_OR_RETURN(performance_, RegisterClass(1, kPerformanceClass));
    ASSIGN_OR_RETURN(nvidia_, RegisterClass(1, kNvidiaClass));
    return {};
  }

  Status Send(const UmadPacket& packet, Duration timeout) override {
    Buffer buffer{};
    buffer.header.id = packet.directed                 ? directed_
                       : packet.mad[1] == kNvidiaClass ? nvidia_
                                                       : performance_;
    buffer.header.timeout_ms =
        static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count());
    buffer.header.length = sizeof(buffer.mad);
    buffer.header.qpn = htonl(packet.directed ? 0 : 1);
    buffer.header.qkey = packet.directed ? 0 : htonl(kQueueKey);
    buffer.header.lid = htons(packet.directed ? std::uint16_t{0xffff} : packet.lid);
    std::memcpy(buffer.mad, packet.mad.data(), sizeof(buffer.mad));
    if (write(fd_, &buffer, sizeof(buffer)) != static_cast<ssize_t>(sizeof(buffer)))
      return FromErrno(errno, path_);
    return {};
  }

  Result<std::optional<UmadPacket>> Receive(Duration wait) override {
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    const auto wait_ms = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
    const int count =
        poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(wait_ms, 0, 60'000)));
    if (count == 0 || (count < 0 && errno == EINTR)) return std::optional<UmadPacket>();
    if (count < 0) return FromErrno(errno, path_);
    Buffer buffer{};
    const ssize_t size = read(fd_, &buffer, sizeof(buffer));
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::optional<UmadPacket>();
    if (size < 0) return FromErrno(errno, path_);
    if (static_cast<std::size_t>(size) < sizeof(buffer.header)) return std::optional<UmadPacket>();
    std::optional<UmadPacket> packet(std::in_place);
    packet->directed = buffer.header.id == directed_;
    packet->lid = ntohs(buffer.header.lid);
    packet->lost = buffer.header.status != 0;
    std::memcpy(packet->mad.data(), buffer.mad, sizeof(buffer.mad));
    return packet;
  }

 private:
  struct Buffer {
    ib_user_mad_hdr header;
    std::uint8_t mad[256];
  };

  Result<std::uint32_t> RegisterClass(std::uint8_t queue_pair, std::uint8_t mad_class) {
    ib_user_mad_reg_req request{};
    request.qpn = queue_pair;
    request.mgmt_class = mad_class;
    request.mgmt_class_version = 1;
    if (ioctl(fd_, IB_USER_MAD_REGISTER_AGENT, &request) != 0) return FromErrno(errno, path_);
    return request.id;
  }

  const std::string path_;
  const int fd_;
  std::uint32_t directed_ = 0;  // Agents of the kernel
  std::uint32_t performance_ = 0;
  std::uint32_t nvidia_ = 0;
};

}  // namespace

Result<std::vector<UmadPort>> ListUmadPorts() {
  DIR* const directory = opendir(kClass);
  if (directory == nullptr) return FromErrno(errno, kClass);
  std::vector<std::string> names;
  while (const dirent* const entry = readdir(directory))
    if (std::string_view(entry->d_name).starts_with("umad")) names.emplace_back(entry->d_name);
  closedir(directory);
  std::vector<UmadPort> ports;
  for (const std::string& name : names) {
    const std::string folder = Format("{}/{}", kClass, name);
    const auto device = ReadAttribute(folder + "/ibdev");
    const auto text = ReadAttribute(folder + "/port");
    if (!device.ok() || !text.ok()) continue;  // Removed meanwhile
    const auto port = ParseNumber<std::uint32_t>(*text);
    if (!port.ok()) continue;
    ports.push_back({.device = *device, .port = *port, .path = "/dev/infiniband/" + name});
  }
  std::ranges::sort(ports, {},
                    [](const UmadPort& each) { return std::pair(each.device, each.port); });
  return ports;
}

Result<std::unique_ptr<Umad>> OpenUmad(const UmadPort& port) {
  const int fd = open(port.path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return FromErrno(errno, port.path);
  auto umad = std::make_unique<KernelUmad>(port.path, fd);
  RETURN_IF_ERROR(umad->Register());
  return std::unique_ptr<Umad>(std::move(umad));
}

}  // namespace fabric::host
