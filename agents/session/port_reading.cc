#include "agents/session/port_reading.h"

#include <utility>
#include <vector>

namespace fabric::agent {
namespace {

class SampledPort final : public probe::PortCounters {
 public:
  SampledPort(std::unique_ptr<host::HostOwner> machine, const counters::CounterSets& sets)
      : machine_(std::move(machine)), sampler_(machine_->host(), progress_) {
    sampler_.Plan(sets);
  }

  std::map<std::string, std::uint64_t> Read() override {
    sampler_.Tick();
    std::map<std::string, std::uint64_t> counted;
    std::size_t index = 0;
    for (const v1::CounterSet& set : sampler_.table()) {
      for (const v1::Counter& counter : set.counters()) {
        const counters::Value& value = sampler_.values()[index];
        const bool usable = sampler_.IsRead(index) && !value.lost && !value.saturated;
        ++index;
        if (usable && value.resets == 0) counted.emplace(counter.neutral(), value.value);
      }
    }
    return counted;
  }

 private:
  std::unique_ptr<host::HostOwner> machine_;
  counters::Progress progress_;
  counters::Sampler sampler_;
};

}  // namespace

counters::CounterSets SetsOfPort(const counters::CounterSets& sets, const v1::RdmaDevice& device,
                                 std::uint32_t port) {
  std::string netdev;
  for (const v1::Port& one : device.ports())
    if (one.number() == port) netdev = one.netdev();
  counters::CounterSets chosen;
  for (const v1::CounterSet& set : sets) {
    const bool of_port = set.device().empty() ? !netdev.empty() && set.netdev() == netdev
                                              : set.device() == device.name() &&
                                                    (set.port() == port ||
                                                     (set.port() == 0 && device.ports_size() == 1));
    if (!of_port) continue;
    v1::CounterSet& added = *chosen.Add();
    added.set_device(set.device());
    added.set_port(set.port());
    added.set_netdev(set.netdev());
    for (const v1::Counter& counter : set.counters())
      if (!probe::WatchedAs(counter.neutral()).empty()) *added.add_counters() = counter;
  }
  return chosen;
}

std::unique_ptr<probe::PortCounters> ReadPort(std::unique_ptr<host::HostOwner> machine,
                                              const counters::CounterSets& sets) {
  return std::make_unique<SampledPort>(std::move(machine), sets);
}

}  // namespace fabric::agent
