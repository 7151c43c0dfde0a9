#include "agents/subnet/ibsim_transport.h"

#include <arpa/inet.h>
#include <endian.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <deque>
#include <utility>

#include "agents/host/sysfs.h"
#include "base/text.h"

namespace fabric::agent {
namespace {

constexpr std::uint32_t kMagic = 0xdeadbeef;
enum ControlType : std::uint32_t { kError = 0, kConnect = 1, kDisconnect = 2 };

struct Control {
  std::uint32_t magic = kMagic;
  std::uint32_t client = 0;
  std::uint32_t type = kError;
  std::uint32_t size = 0;
  std::uint8_t data[64] = {};
};

struct ClientInfo {
  std::uint32_t id = 0;
  std::uint32_t queue_pair = 0;
  std::uint32_t manager = 0;  // Never: this reader is no subnet manager.
  char node[32] = {};
};
static_assert(sizeof(ClientInfo) <= sizeof(Control::data));

struct Record {
  std::uint32_t to_lid = 0;  // These in network byte order
  std::uint32_t from_lid = 0;
  std::uint32_t to_queue_pair = 0;
  std::uint32_t from_queue_pair = 0;
  std::uint32_t status = 0;
  std::uint32_t padding = 0;
  std::uint64_t size = 0;
  subnet::Mad mad{};
};
static_assert(sizeof(Record) == 288);

struct Address {
  sockaddr_un name{};
  socklen_t size = 0;
};

// An abstract name; ibsim counts a NUL at its end.
Address AddressOf(const std::string& text) {
  Address address;
  address.name.sun_family = AF_UNIX;
  const std::size_t size = std::min(text.size(), sizeof(address.name.sun_path) - 2);
  std::memcpy(address.name.sun_path + 1, text.data(), size);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size + 2);
  return address;
}

Result<host::Fd> Connected(const std::string& own, const std::string& other) {
  host::Fd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const Address from = AddressOf(own);
  if (fd.get() < 0 || bind(fd.get(), reinterpret_cast<const sockaddr*>(&from.name), from.size) != 0)
    return FromErrno(errno, "ibsim socket " + own);
  if (other.empty()) return fd;
  const Address to = AddressOf(other);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&to.name), to.size) != 0)
    return FromErrno(errno, "ibsim socket " + other);
  return fd;
}

Status WaitFor(int fd, short events, Duration wait) {
  pollfd poll{.fd = fd, .events = events, .revents = 0};
  const auto count = std::max<std::int64_t>(wait.count(), 0);
  const timespec time{.tv_sec = count / 1'000'000'000, .tv_nsec = count % 1'000'000'000};
  const int ready = ppoll(&poll, 1, &time, nullptr);
  if (ready > 0) return {};
  if (ready < 0 && errno != EINTR) return FromErrno(errno, "ibsim");
  return Status(Code::kDeadlineExceeded, "no answer from ibsim");
}

Result<Control> Ask(int fd, const Control& request) {
  if (write(fd, &request, sizeof(request)) != static_cast<ssize_t>(sizeof(request)))
    return FromErrno(errno, "ibsim");
  RETURN_IF_ERROR(WaitFor(fd, POLLIN, std::chrono::seconds(5)));
  Control answer;
  if (read(fd, &answer, sizeof(answer)) != static_cast<ssize_t>(sizeof(answer)))
    return FromErrno(errno, "ibsim");
  if (answer.type == kError)
    return Status(Code::kNotFound, "ibsim refused the request; check the name of the node");
  return answer;
}

class IbsimTransport final : public MadTransport {
 public:
  IbsimTransport(std::string name, host::Fd control, host::Fd data, std::uint32_t client)
      : name_(std::move(name)),
        control_(std::move(control)),
        data_(std::move(data)),
        client_(client) {}
  ~IbsimTransport() override {
    const Control request{.client = client_, .type = kDisconnect};
    // ibsim also notices that the sockets are gone.
    [[maybe_unused]] const auto answer = Ask(control_.get(), request);
  }
  IbsimTransport(const IbsimTransport&) = delete;
  IbsimTransport& operator=(const IbsimTransport&) = delete;

  std::string name() const override { return name_; }

  Status Send(const MadPacket& packet, Duration) override {
    Record record;
    const bool directed = packet.lid == kPermissiveLid;
    record.to_lid = htons(packet.lid);
    record.from_lid = directed ? htons(kPermissiveLid) : 0;
    record.to_queue_pair = record.from_queue_pair = htonl(directed ? 0 : 1);
    record.size = htobe64(sizeof(record.mad));
    record.mad = packet.mad;
    unsent_.push_back(record);
    return Flush();
  }

  Result<std::optional<MadPacket>> Receive(Duration wait) override {
    RETURN_IF_ERROR(Flush());
    Record record;
    ssize_t size = recv(data_.get(), &record, sizeof(record), MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN && wait > Duration(0)) {
      const short events = static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT);
      const Status ready = WaitFor(data_.get(), events, wait);
      if (ready.code() == Code::kDeadlineExceeded) return std::optional<MadPacket>();
      RETURN_IF_ERROR(ready);
      RETURN_IF_ERROR(Flush());
      size = recv(data_.get(), &record, sizeof(record), MSG_DONTWAIT);
    }
    if (size < 0 && errno == EAGAIN) return std::optional<MadPacket>();
    if (size < 0) return FromErrno(errno, "ibsim");
    if (size != static_cast<ssize_t>(sizeof(record))) return std::optional<MadPacket>();
    return std::optional<MadPacket>(
        MadPacket{.lid = ntohs(static_cast<std::uint16_t>(record.from_lid)),
                  .lost = record.status != 0,
                  .mad = record.mad});
  }

 private:
  // The queue of the socket is short, and ibsim does not read while it waits for us to.
  Status Flush() {
    while (!unsent_.empty()) {
      if (send(data_.get(), &unsent_.front(), sizeof(Record), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        if (errno == EAGAIN || errno == ENOBUFS) return {};
        return FromErrno(errno, "ibsim");
      }
      unsent_.pop_front();
    }
    return {};
  }

  const std::string name_;
  const host::Fd control_;
  const host::Fd data_;
  const std::uint32_t client_;
  std::deque<Record> unsent_;  // At most the window
};

}  // namespace

Result<std::unique_ptr<MadTransport>> OpenIbsim(const std::string& name, const std::string& host) {
  const std::string pid = std::to_string(getpid());
  auto control = Connected(name + ":ctl" + pid, name + ":ctl");
  if (!control.ok())
    return Status(Code::kUnavailable, Format("expected an ibsim with the socket name {}, saw {}",
                                             Quoted(name), control.status().message()));
  ASSIGN_OR_RETURN(host::Fd data, Connected(name + ":in" + pid, ""));
  ClientInfo info{.id = static_cast<std::uint32_t>(getpid())};
  std::copy_n(host.begin(), std::min(host.size(), sizeof(info.node) - 1), info.node);
  Control request{.type = kConnect, .size = sizeof(info)};
  std::memcpy(request.data, &info, sizeof(info));
  ASSIGN_OR_RETURN(const Control answer, Ask(control->get(), request));
  std::memcpy(&info, answer.data, sizeof(info));
  const Address out = AddressOf(Format("{}:out{}", name, info.id));
  if (connect(data.get(), reinterpret_cast<const sockaddr*>(&out.name), out.size) != 0)
    return FromErrno(errno, "ibsim");
  info.node[sizeof(info.node) - 1] = '\0';
  return std::unique_ptr<MadTransport>(std::make_unique<IbsimTransport>(
      Format("{} of ibsim {}", info.node, name), *std::move(control), std::move(data), info.id));
}

}  // namespace fabric::agent
