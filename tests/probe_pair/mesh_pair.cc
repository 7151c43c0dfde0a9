// The agent's part of the mesh between two machines without agents and controller, for the lab and
// by hand: what pings take, and what they cost.
//
//   n2: mesh_pair DEVICE GID_INDEX
//   n1: mesh_pair DEVICE GID_INDEX 10.10.0.2 PINGS_PER_SECOND SECONDS [PERCENT]
//
// PERCENT of a core may be used by either instead of what an agent may use.
// The endpoints go over one TCP connection; its end ends the answering. The one that pings prints
// one JSON object: the window, and the processor time and memory of this program.
#include <sys/resource.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>

#include "agents/mesh/thread.h"
#include "base/text.h"
#include "proto/json.h"
#include "tests/probe_pair/pair_socket.h"

namespace fabric {
namespace {

constexpr std::uint16_t kPort = 18519;
constexpr auto kPatience = std::chrono::seconds(60);
constexpr std::uint32_t kWarmUpMs = 3000;  // Until pings count

// What the mesh says.
class Said {
 public:
  void Take(const v1::AgentMessage& message) {
    const std::lock_guard lock(mutex_);
    if (message.has_mesh_endpoints()) endpoint_ = message.mesh_endpoints().endpoints(0);
    if (message.has_mesh_window() && message.mesh_window().paths_size() > 0)
      window_ = message.mesh_window();
    changed_.notify_all();
  }
  v1::MeshEndpoint AwaitEndpoint() {
    std::unique_lock lock(mutex_);
    const bool came =
        changed_.wait_for(lock, kPatience, [&] { return endpoint_ && endpoint_->has_endpoint(); });
    if (!came) Die(endpoint_ ? endpoint_->reason() : "no endpoint");
    return *endpoint_;
  }
  v1::MeshWindow AwaitWindow(std::uint64_t order, std::chrono::seconds patience) {
    std::unique_lock lock(mutex_);
    const auto came = [&] { return window_ && window_->assignment() == order; };
    if (!changed_.wait_for(lock, patience, came)) Die("no window");
    return *window_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<v1::MeshEndpoint> endpoint_;
  std::optional<v1::MeshWindow> window_;
};

v1::RdmaDevice Device(host::Verbs& verbs, const std::string& name, std::uint32_t gid_index) {
  const auto opened =
      verbs.OpenUd({.at = {.device = name, .gid_index = gid_index}, .payload_bytes_max = 64});
  if (!opened.ok()) Die(opened.status().message());
  return DeviceWithGid(name, gid_index, (*opened)->local().gid);
}

double CpuSeconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  constexpr double kMicro = 1e-6;
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         kMicro * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

struct Wanted {
  const char* server = nullptr;
  std::uint32_t pings_per_second = 0;
  std::uint32_t seconds = 0;
  mesh::MeshOptions options;
};

int Main(const std::string& name, std::uint32_t gid_index, const Wanted& wanted) {
  const auto verbs = host::OpenVerbs();
  const v1::RdmaDevice device = Device(*verbs, name, gid_index);
  const SystemClock clock;
  Said said;
  mesh::MeshThread mesh(
      *verbs, clock, [&](const std::string&) { return device; },
      [](const v1::ProbePort&) { return false; },
      [&](const v1::AgentMessage& message) { said.Take(message); }, wanted.options);
  v1::MeshAssignment order;
  order.set_window_ms(1000 * wanted.seconds);
  order.set_pings_per_second(wanted.pings_per_second);
  v1::MeshPortAssignment& port = *order.add_ports();
  port.mutable_local()->set_device(name);
  port.mutable_local()->set_port(1);
  mesh.SetOrder(order);
  const v1::MeshEndpoint own = said.AwaitEndpoint();

  Lines lines(Connected(wanted.server, kPort));
  lines.Send(ToJson(own, false));
  const auto theirs = lines.Await<v1::MeshEndpoint>();
  if (wanted.server == nullptr) {
    lines.Next();  // Nothing more comes: the end.
    return 0;
  }
  // First a window that ends when pings count, then the one that is shown.
  v1::MeshTarget& target = *port.add_targets();
  *target.mutable_remote() = theirs.port();
  *target.mutable_endpoint() = theirs.endpoint();
  order.set_number(1);
  mesh.SetOrder(order);
  usleep(kWarmUpMs * 1000);
  order.set_number(2);
  mesh.SetOrder(order);
  const double cpu = CpuSeconds();
  const v1::MeshWindow window =
      said.AwaitWindow(order.number(), std::chrono::seconds(2 * wanted.seconds + 60));
  const double used = CpuSeconds() - cpu;
  rusage memory{};
  getrusage(RUSAGE_SELF, &memory);
  std::printf("{\"cpu_percent\":%.3f,\"resident_kb\":%ld,\"window\":%s}\n",
              100 * used / wanted.seconds, memory.ru_maxrss, ToJson(window, false).c_str());
  return 0;
}

}  // namespace
}  // namespace fabric

int main(int argc, char** argv) {
  const auto number = [&](int n) {
    return fabric::ParseNumber<std::uint32_t>(argc > n ? argv[n] : "");
  };
  const bool pings = argc == 6 || argc == 7;
  if ((argc != 3 && argc != 4 && !pings) || !number(2).ok() ||
      (pings && (!number(4).ok() || !number(5).ok() || *number(5) == 0)) ||
      ((argc == 4 || argc == 7) && !number(argc - 1).ok())) {
    std::fputs("usage: mesh_pair DEVICE GID_INDEX [SERVER PINGS_PER_SECOND SECONDS] [PERCENT]\n",
               stderr);
    return 2;
  }
  fabric::Wanted wanted;
  if (pings) {
    wanted.server = argv[3];
    wanted.pings_per_second = *number(4);
    wanted.seconds = *number(5);
  }
  if (argc == 4 || argc == 7) wanted.options.cost_max = *number(argc - 1) / 100.0;
  return fabric::Main(argv[1], *number(2), wanted);
}
