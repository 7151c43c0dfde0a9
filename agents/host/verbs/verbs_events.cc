#include "agents/host/verbs/verbs_events.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agents/host/verbs/verbs_device.h"

namespace fabric::host {
namespace {

// PCI drivers whose RDMA devices may be held open: disassociate_ucontext since Linux 4.3, and the
// only ones of today that have InfiniBand ports, which need no netdev to have events.
constexpr std::string_view kDriversThatLetGo[] = {"mlx5_core", "mlx4_core"};
constexpr std::size_t kDevicesMax = 64;  // Each open one costs some of the device's resources.
// New devices are looked for this often.
constexpr int kScanIntervalMs = 30'000;

bool DriverLetsGo(const ibv_device& device) {
  std::array<char, 4096> target;
  const std::string link = std::string(device.ibdev_path) + "/device/driver";
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  if (size <= 0) return false;
  std::string_view driver(target.data(), static_cast<std::size_t>(size));
  driver = driver.substr(driver.find_last_of('/') + 1);
  return std::find(std::begin(kDriversThatLetGo), std::end(kDriversThatLetGo), driver) !=
         std::end(kDriversThatLetGo);
}

struct OpenDevice {
  std::string name;
  ContextPtr context;
};

// Opens the devices that are not open yet. One that cannot be opened has no events.
void Scan(std::vector<OpenDevice>& devices) {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  if (list == nullptr) return;
  const std::unique_ptr<ibv_device*, void (*)(ibv_device**)> owner(list, ibv_free_device_list);
  for (int i = 0; i < count && devices.size() < kDevicesMax; ++i) {
    const std::string name = ibv_get_device_name(list[i]);
    const auto is_it = [&](const OpenDevice& device) { return device.name == name; };
    if (std::any_of(devices.begin(), devices.end(), is_it) || !DriverLetsGo(*list[i])) continue;
    ContextPtr context(ibv_open_device(list[i]));
    if (context == nullptr) continue;
    const int flags = ::fcntl(context->async_fd, F_GETFL);
    if (flags < 0 || ::fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK) < 0) continue;
    devices.push_back({.name = name, .context = std::move(context)});
  }
}

// Passes on what this device has to say. False when it is to be closed: its driver is going.
bool PassOn(ibv_context& context, int to) {
  ibv_async_event event{};
  for (;;) {
    if (ibv_get_async_event(&context, &event) != 0) return errno == EAGAIN || errno == EINTR;
    const int type = event.event_type;
    ibv_ack_async_event(&event);
    // When the socket is full, its content wakes the reader.
    (void)::send(to, &type, sizeof(type), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (type == IBV_EVENT_DEVICE_FATAL) return false;
  }
}

class Watcher final : public VerbsEvents {
 public:
  Watcher(Fd here, Fd there, Fd stop)
      : here_(std::move(here)),
        there_(std::move(there)),
        stop_(std::move(stop)),
        thread_([this](const std::stop_token& stopping) { Run(stopping); }) {}
  ~Watcher() override {
    thread_.request_stop();
    ::eventfd_write(stop_.get(), 1);
  }
  Fd TakeEvents() override { return std::move(there_); }

 private:
  void Run(const std::stop_token& stopping) const {
    std::vector<OpenDevice> devices;
    while (!stopping.stop_requested()) {
      Scan(devices);
      std::vector<pollfd> waiting;
      for (const OpenDevice& device : devices)
        waiting.push_back({.fd = device.context->async_fd, .events = POLLIN, .revents = 0});
      waiting.push_back({.fd = stop_.get(), .events = POLLIN, .revents = 0});
      if (::poll(waiting.data(), waiting.size(), kScanIntervalMs) <= 0) continue;
      for (std::size_t i = devices.size(); i-- > 0;)
        if (waiting[i].revents != 0 && !PassOn(*devices[i].context, here_.get()))
          devices.erase(devices.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  const Fd here_;
  Fd there_;
  const Fd stop_;
  std::jthread thread_;  // Last: it uses the others.
};

}  // namespace

Result<std::unique_ptr<VerbsEvents>> OpenVerbsEvents() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
    return FromErrno(errno, "opening a pair of sockets");
  Fd here(ends[0]);
  Fd there(ends[1]);
  Fd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (stop.get() < 0) return FromErrno(errno, "opening an eventfd");
  return std::unique_ptr<VerbsEvents>(
      std::make_unique<Watcher>(std::move(here), std::move(there), std::move(stop)));
}

Result<EventSet> ParseVerbsEvents(std::span<const std::byte> datagram) {
  int type = 0;
  if (datagram.size() != sizeof(type))
    return Status(Code::kInvalidArgument, "verbs event: expected the number of its type");
  std::memcpy(&type, datagram.data(), sizeof(type));
  switch (type) {
    case IBV_EVENT_DEVICE_FATAL: return EventKind::kRdma | EventKind::kHotplug;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE: return EventSet(EventKind::kRdma);
    default: return EventSet();  // Of queues, which belong to programs
  }
}

}  // namespace fabric::host
