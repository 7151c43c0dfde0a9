#include "agents/counters/readers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "agents/counters/file_readers.h"
#include "base/text.h"

namespace fabric::counters {
namespace {

using host::Host;

std::unique_ptr<Reader> OpenFiles(const Host& host, const Group& group,
                                  std::vector<std::string> folders) {
  FilePlaces places{.of = "sys/class/infiniband/" + group.place.device,
                    .folders = std::move(folders),
                    .names = group.names};
  if (group.place.port != 0)
    places.of += Format("/ports/{}", group.place.port);  // Else counters of the device
  return host.captured ? OpenCapturedFiles(host.root, std::move(places))
                       : OpenSysfsFiles(host.root, places);
}

// All counters of a port in one message, fresh from the hardware.
class RdmaNetlinkReader final : public Reader {
 public:
  RdmaNetlinkReader(host::RdmaNetlink& rdma, std::uint32_t device, const Group& group)
      : rdma_(rdma), device_(device), port_(group.place.port), names_(group.names) {}

  bool Reads(std::size_t) const override { return true; }

  Status Read(std::span<Reading> readings) override {
    ASSIGN_OR_RETURN(const std::vector<host::NamedCounter> counters,
                     rdma_.Counters(device_, port_));
    for (Reading& reading : readings) reading.there = false;
    slots_.resize(counters.size(), 0);
    for (std::size_t i = 0; i < counters.size(); ++i) {
      const std::size_t at = Find(counters[i].name, slots_[i]);
      slots_[i] = at;
      if (at < names_.size()) readings[at] = {.raw = counters[i].value, .there = true};
    }
    return {};
  }

 private:
  // The kernel keeps their order: where one was last time, it is again.
  std::size_t Find(std::string_view name, std::size_t hint) const {
    if (hint < names_.size() && names_[hint] == name) return hint;
    const auto found = std::find(names_.begin(), names_.end(), name);
    return static_cast<std::size_t>(found - names_.begin());
  }

  host::RdmaNetlink& rdma_;
  const std::uint32_t device_;
  const std::uint32_t port_;
  const std::vector<std::string> names_;
  std::vector<std::size_t> slots_;  // Where the counters of the last message belong
};

std::unique_ptr<Reader> OpenRdma(const Host& host, const Group& group) {
  const auto devices = host.rdma.Devices();
  if (!devices.ok()) return nullptr;
  for (const host::RdmaDeviceInfo& device : *devices)
    if (device.name == group.place.device &&
        host.rdma.Counters(device.index, group.place.port).ok())
      return std::make_unique<RdmaNetlinkReader>(host.rdma, device.index, group);
  return nullptr;
}

// Values of all statistics of a netdev by one call. Names are asked for when they may have changed:
// drivers have others with other settings.
class EthtoolReader final : public Reader {
 public:
  EthtoolReader(host::Ethtool& ethtool, const Group& group)
      : ethtool_(ethtool), netdev_(group.place.netdev), names_(group.names) {}

  bool Reads(std::size_t) const override { return true; }

  void Refresh() override { count_ = 0; }

  Status Read(std::span<Reading> readings) override {
    RETURN_IF_ERROR(ethtool_.StatisticValues(netdev_, values_));
    if (values_.size() != count_) RETURN_IF_ERROR(FindNames());
    for (std::size_t i = 0; i < readings.size(); ++i) {
      readings[i].there = places_[i] < values_.size();
      if (readings[i].there) readings[i].raw = values_[places_[i]];
    }
    return {};
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  Status FindNames() {
    ASSIGN_OR_RETURN(const std::vector<std::string> driver, ethtool_.StatisticNames(netdev_));
    // Values are asked for again: those at hand may belong to the names of before.
    RETURN_IF_ERROR(ethtool_.StatisticValues(netdev_, values_));
    if (values_.size() != driver.size())
      return {Code::kUnavailable,
              "ethtool statistics of " + netdev_ + ": the set of counters keeps changing"};
    count_ = driver.size();
    places_.assign(names_.size(), kNowhere);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto found = std::find(driver.begin(), driver.end(), names_[i]);
      if (found != driver.end()) places_[i] = static_cast<std::size_t>(found - driver.begin());
    }
    return {};
  }

  host::Ethtool& ethtool_;
  const std::string netdev_;
  const std::vector<std::string> names_;
  std::size_t count_ = 0;  // Of the driver's names; 0: to be asked for
  std::vector<std::size_t> places_;
  std::vector<std::uint64_t> values_;
};

// PFC frames by priority, from the settings of DCB.
class DcbReader final : public Reader {
 public:
  DcbReader(host::DcbNetlink& dcb, const Group& group) : dcb_(dcb), netdev_(group.place.netdev) {
    for (const std::string& name : group.names) places_.push_back(PlaceOf(name));
  }

  bool Reads(std::size_t index) const override { return places_[index].has_value(); }

  Status Read(std::span<Reading> readings) override {
    ASSIGN_OR_RETURN(const host::DcbIeee ieee, dcb_.Ieee(netdev_));
    for (std::size_t i = 0; i < readings.size(); ++i) {
      readings[i].there = ieee.pfc && places_[i];
      if (readings[i].there)
        readings[i].raw = places_[i]->sent ? ieee.pfc->requests[places_[i]->priority]
                                           : ieee.pfc->indications[places_[i]->priority];
    }
    return {};
  }

 private:
  struct Place {
    bool sent;
    std::size_t priority;
  };

  static std::optional<Place> PlaceOf(std::string_view name) {
    if (name.empty() || name.back() < '0' || name.back() > '7') return std::nullopt;
    const auto priority = static_cast<std::size_t>(name.back() - '0');
    name.remove_suffix(1);
    if (name == "pfc_requests_prio") return Place{.sent = true, .priority = priority};
    if (name == "pfc_indications_prio") return Place{.sent = false, .priority = priority};
    return std::nullopt;
  }

  host::DcbNetlink& dcb_;
  const std::string netdev_;
  std::vector<std::optional<Place>> places_;
};

// Statistics of forward error correction, by the names of Ethtool::FecStatistics().
class FecReader final : public Reader {
 public:
  FecReader(host::Ethtool& ethtool, const Group& group)
      : ethtool_(ethtool), netdev_(group.place.netdev), names_(group.names) {}

  bool Reads(std::size_t) const override { return true; }

  Status Read(std::span<Reading> readings) override {
    ASSIGN_OR_RETURN(const auto counters, ethtool_.FecStatistics(netdev_));
    for (std::size_t i = 0; i < readings.size(); ++i) {
      const auto found = std::find_if(counters.begin(), counters.end(),
                                      [&](const auto& each) { return each.name == names_[i]; });
      readings[i].there = found != counters.end();
      if (readings[i].there) readings[i].raw = found->value;
    }
    return {};
  }

 private:
  host::Ethtool& ethtool_;
  const std::string netdev_;
  const std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<Reader> OpenReader(const Host& host, const Group& group) {
  switch (group.place.source) {
    case v1::COUNTER_SOURCE_PORT:
      if (group.place.device.empty()) return nullptr;
      return OpenFiles(host, group,
                       {"counters", "counters_ext"});  // Linux before 4.5: some in _ext
    case v1::COUNTER_SOURCE_HW: {
      if (group.place.device.empty()) return nullptr;
      auto netlink = OpenRdma(host, group);
      return netlink != nullptr ? std::move(netlink) : OpenFiles(host, group, {"hw_counters"});
    }
    case v1::COUNTER_SOURCE_ETHTOOL:
      if (group.place.netdev.empty() || !host.ethtool.StatisticNames(group.place.netdev).ok())
        return nullptr;
      return std::make_unique<EthtoolReader>(host.ethtool, group);
    case v1::COUNTER_SOURCE_DCB:
      if (group.place.netdev.empty() || !host.dcb.Ieee(group.place.netdev).ok()) return nullptr;
      return std::make_unique<DcbReader>(host.dcb, group);
    case v1::COUNTER_SOURCE_FEC:
      if (group.place.netdev.empty() || !host.ethtool.FecStatistics(group.place.netdev).ok())
        return nullptr;
      return std::make_unique<FecReader>(host.ethtool, group);
    default: return nullptr;
  }
}

}  // namespace fabric::counters
