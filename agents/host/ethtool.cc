#include "agents/host/ethtool.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>
#include <string_view>

#include "agents/host/printable.h"
#include "agents/host/sysfs.h"
#include "base/mutex.h"
#include "base/text.h"

namespace fabric::host {
namespace {

// The kernel writes as many counters as the driver has at that moment, not as many as it was given
// room for, and a driver may add some between our question how many there are and the next.
// The buffers hold twice what is accepted. Pages that are never written cost nothing.
constexpr std::size_t kCountersMax = 32768;
constexpr std::size_t kCountersRoom = 2 * kCountersMax;
constexpr int kTriesMax = 3;

// A fixed field of a structure, which need not end in a NUL byte.
template <std::size_t N>
std::string FieldText(const char (&field)[N]) {
  const std::string_view text(field, ::strnlen(field, N));
  return IsText(text) ? std::string(text) : std::string();
}

struct StatisticsBuffers {
  std::unique_ptr<std::byte[]> names = std::make_unique_for_overwrite<std::byte[]>(
      sizeof(ethtool_gstrings) + kCountersRoom * ETH_GSTRING_LEN);
  std::unique_ptr<std::byte[]> values = std::make_unique_for_overwrite<std::byte[]>(
      sizeof(ethtool_stats) + kCountersRoom * sizeof(std::uint64_t));
};

// The counters in the two buffers that the kernel filled. Names that are no text are left out.
std::vector<NamedCounter> Combine(const StatisticsBuffers& buffers, std::size_t count) {
  const auto* const names =
      reinterpret_cast<const char*>(buffers.names.get() + sizeof(ethtool_gstrings));
  const std::byte* const values = buffers.values.get() + sizeof(ethtool_stats);
  std::vector<NamedCounter> counters;
  counters.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const char* const field = names + i * ETH_GSTRING_LEN;
    const std::string_view name = Trim({field, ::strnlen(field, ETH_GSTRING_LEN)});
    if (name.empty() || !IsText(name)) continue;
    std::uint64_t value = 0;
    std::memcpy(&value, values + i * sizeof(value), sizeof(value));
    counters.push_back({.name = std::string(name), .value = value});
  }
  return counters;
}

class LiveEthtool final : public Ethtool {
 public:
  LiveEthtool() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)), socket_error_(errno) {}

  Result<DriverInfo> Driver(const std::string& netdev) override {
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    RETURN_IF_ERROR(Ask(netdev, "driver", &info));
    return DriverInfo{.driver = FieldText(info.driver),
                      .version = FieldText(info.version),
                      .firmware = FieldText(info.fw_version),
                      .bus_info = FieldText(info.bus_info)};
  }

  Result<std::vector<NamedCounter>> Statistics(const std::string& netdev) override {
    const MutexLock lock(mutex_);
    for (int i = 0; i < kTriesMax; ++i) {
      ASSIGN_OR_RETURN(const std::uint32_t count, CountStatistics(netdev));
      if (count == 0)
        return Status(Code::kUnimplemented, "ethtool statistics of " + netdev + ": none");
      if (count > kCountersMax)
        return Status(Code::kResourceExhausted,
                      Format("ethtool statistics of {}: expected at most {} counters, saw {}",
                             netdev, kCountersMax, count));
      ethtool_gstrings names{.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = count};
      ethtool_stats values{.cmd = ETHTOOL_GSTATS, .n_stats = count};
      RETURN_IF_ERROR(Fill(netdev, "counter names", names, buffers_.names.get()));
      RETURN_IF_ERROR(Fill(netdev, "counters", values, buffers_.values.get()));
      if (names.len == count && values.n_stats == count) return Combine(buffers_, count);
    }
    return Status(Code::kUnavailable,
                  "ethtool statistics of " + netdev + ": the set of counters keeps changing");
  }

  Result<PauseParameters> Pause(const std::string& netdev) override {
    ethtool_pauseparam pause{};
    pause.cmd = ETHTOOL_GPAUSEPARAM;
    RETURN_IF_ERROR(Ask(netdev, "pause parameters", &pause));
    return PauseParameters{
        .autonegotiate = pause.autoneg != 0, .rx = pause.rx_pause != 0, .tx = pause.tx_pause != 0};
  }

 private:
  Status Ask(const std::string& netdev, std::string_view what, void* command) const {
    const auto doing = [&] { return Format("ethtool {} of {}", what, netdev); };
    if (socket_.get() < 0) return FromErrno(socket_error_, doing() + ": opening a socket");
    ifreq request{};
    if (netdev.empty() || netdev.size() >= sizeof(request.ifr_name))
      return {Code::kNotFound, doing() + ": no netdev can have this name"};
    std::memcpy(request.ifr_name, netdev.data(), netdev.size());
    request.ifr_data = static_cast<char*>(command);
    if (::ioctl(socket_.get(), SIOCETHTOOL, &request) != 0) return FromErrno(errno, doing());
    return {};
  }

  Result<std::uint32_t> CountStatistics(const std::string& netdev) const {
    ethtool_sset_info sets{.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_STATS};
    std::uint32_t count = 0;
    alignas(ethtool_sset_info) std::byte buffer[sizeof(sets) + sizeof(count)] = {};
    RETURN_IF_ERROR(Fill(netdev, "number of counters", sets, buffer));
    std::memcpy(&count, buffer + sizeof(sets), sizeof(count));
    return sets.sset_mask == 0 ? 0 : count;  // The mask comes back without what there is not.
  }

  // Puts `header` in front of a buffer, has the kernel fill what follows, and reads it back.
  template <class Header>
  Status Fill(const std::string& netdev, std::string_view what, Header& header,
              std::byte* buffer) const {
    std::memcpy(buffer, &header, sizeof(header));
    RETURN_IF_ERROR(Ask(netdev, what, buffer));
    std::memcpy(&header, buffer, sizeof(header));
    return {};
  }

  const Fd socket_;
  const int socket_error_;
  Mutex mutex_;
  const StatisticsBuffers buffers_ GUARDED_BY(mutex_);
};

class CapturedEthtool final : public Ethtool {
 public:
  Result<DriverInfo> Driver(const std::string&) override { return Refusal(); }
  Result<std::vector<NamedCounter>> Statistics(const std::string&) override { return Refusal(); }
  Result<PauseParameters> Pause(const std::string&) override { return Refusal(); }

 private:
  static Status Refusal() { return {Code::kUnimplemented, "ethtool needs the live machine"}; }
};

}  // namespace

std::unique_ptr<Ethtool> OpenEthtool() {
  return std::make_unique<LiveEthtool>();
}
std::unique_ptr<Ethtool> NoEthtool() {
  return std::make_unique<CapturedEthtool>();
}

}  // namespace fabric::host
