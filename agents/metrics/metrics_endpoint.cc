#include <arpa/inet.h>
#include <netinet/in.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <exception>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agents/metrics/metrics.h"
#include "base/mutex.h"
#include "base/text.h"

namespace fabric::agent {
namespace {

class Collector final : public prometheus::Collectable {
 public:
  explicit Collector(std::function<NodeMetrics()> source) : source_(std::move(source)) {}
  std::vector<prometheus::MetricFamily> Collect() const override { return ToMetrics(source_()); }

 private:
  const std::function<NodeMetrics()> source_;
};

// Connects and hangs up at once.
void Knock(const HostPort& address) {
  const int family = address.host.find(':') == std::string::npos ? AF_INET : AF_INET6;
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  if (family == AF_INET) {
    sockaddr_in to{.sin_family = AF_INET, .sin_port = htons(address.port)};
    inet_pton(AF_INET, address.host.c_str(), &to.sin_addr);
    (void)connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  } else {
    sockaddr_in6 to{.sin6_family = AF_INET6, .sin6_port = htons(address.port)};
    inet_pton(AF_INET6, address.host.c_str(), &to.sin6_addr);
    (void)connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }
  close(fd);
}

class Endpoint final : public MetricsEndpoint {
 public:
  // Throws what the library throws.
  Endpoint(const HostPort& address, std::function<NodeMetrics()> source)
      : collector_(std::make_shared<Collector>(std::move(source))),
        exposer_(std::make_unique<prometheus::Exposer>(Options(address))),
        address_(address) {
    exposer_->RegisterCollectable(collector_);
    address_.port = static_cast<std::uint16_t>(exposer_->GetListeningPorts().front());
  }
  // The library's server checks for a stop request every 2 s, and at each connection.
  ~Endpoint() override {
    const std::jthread knocking([this](const std::stop_token& stop) {
      Mutex mutex;
      std::condition_variable_any never;
      MutexLock lock(mutex);
      while (!stop.stop_requested()) {
        Knock(address_);
        never.wait_for(lock, stop, kKnockEvery, [] { return false; });
      }
    });
    exposer_.reset();
  }
  HostPort address() const override { return address_; }

 private:
  // A connection holds a thread until its request has arrived.
  static std::vector<std::string> Options(const HostPort& address) {
    return {"listening_ports",    ToString(address),
            "num_threads",        "4",
            "request_timeout_ms", "1000",
            "linger_timeout_ms",  "1000"};
  }

  static constexpr auto kKnockEvery = std::chrono::milliseconds(20);
  // The library wants to borrow its collectables weakly.
  decltype(std::make_shared<Collector>(nullptr)) collector_;
  std::unique_ptr<prometheus::Exposer> exposer_;
  HostPort address_;
};

}  // namespace

Result<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Open(
    const HostPort& address, std::function<NodeMetrics()> source) {
  try {
    return std::unique_ptr<MetricsEndpoint>(std::make_unique<Endpoint>(address, std::move(source)));
  } catch (const std::exception& error) {
    // What it says is "null context when constructing CivetServer. Possible problem binding to
    // port.", for every cause.
    return Status(Code::kUnavailable,
                  Format("cannot listen on {} for metrics: address in use or not of this machine",
                         ToString(address)));
  }
}

}  // namespace fabric::agent
