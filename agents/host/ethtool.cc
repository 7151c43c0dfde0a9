#include "agents/host/ethtool.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "agents/host/call_watch.h"
#include "agents/host/netlink/ethtool_netlink.h"
#include "agents/host/printable.h"
#include "agents/host/sysfs.h"
#include "base/mutex.h"
#include "base/text.h"

namespace fabric::host {
namespace {

// The kernel writes all counters that the driver has at that moment, regardless of the buffer size,
// and a driver may add counters after their number was read. So the buffers have twice the accepted
// size; pages that are never written cost nothing.
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

// Name and value number `index` in the buffers that the kernel filled; a name that is not text is
// empty.
std::string_view NameAt(const StatisticsBuffers& buffers, std::size_t index) {
  const auto* const field =
      reinterpret_cast<const char*>(buffers.names.get() + sizeof(ethtool_gstrings)) +
      index * ETH_GSTRING_LEN;
  const std::string_view name = Trim({field, ::strnlen(field, ETH_GSTRING_LEN)});
  return IsText(name) ? name : std::string_view();
}
std::uint64_t ValueAt(const StatisticsBuffers& buffers, std::size_t index) {
  std::uint64_t value = 0;
  std::memcpy(&value, buffers.values.get() + sizeof(ethtool_stats) + index * sizeof(value),
              sizeof(value));
  return value;
}

// The counters in the two buffers. Names that are no text are left out.
std::vector<NamedCounter> Combine(const StatisticsBuffers& buffers, std::size_t count) {
  std::vector<NamedCounter> counters;
  counters.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    if (const std::string_view name = NameAt(buffers, i); !name.empty())
      counters.push_back({.name = std::string(name), .value = ValueAt(buffers, i)});
  return counters;
}

// Speed and lanes of the link modes, in runs of bits: enum ethtool_link_mode_bit_indices. The last
// ones are of later kernels than our headers.
struct LinkModes {
  std::uint32_t first_bit;
  std::uint32_t last_bit;
  std::uint32_t mbps;
  std::uint32_t lanes;
};
constexpr LinkModes kLinkModes[] = {
    {0, 1, 10, 1},          {2, 3, 100, 1},         {4, 5, 1'000, 1},
    {12, 12, 10'000, 1},    {15, 15, 2'500, 1},     {17, 17, 1'000, 1},
    {18, 18, 10'000, 4},    {19, 20, 10'000, 1},    {21, 22, 20'000, 2},
    {23, 26, 40'000, 4},    {27, 30, 56'000, 4},    {31, 33, 25'000, 1},
    {34, 35, 50'000, 2},    {36, 39, 100'000, 4},   {40, 40, 50'000, 2},
    {41, 41, 1'000, 1},     {42, 46, 10'000, 1},    {47, 47, 2'500, 1},
    {48, 48, 5'000, 1},     {52, 56, 50'000, 1},    {57, 61, 100'000, 2},
    {62, 66, 200'000, 4},   {67, 67, 100, 1},       {68, 68, 1'000, 1},
    {69, 73, 400'000, 8},   {75, 79, 100'000, 1},   {80, 84, 200'000, 2},
    {85, 89, 400'000, 4},   {90, 91, 100, 1},       {92, 92, 10, 1},
    {93, 98, 800'000, 8},   {99, 102, 10, 1},       {103, 108, 200'000, 1},
    {109, 114, 400'000, 2}, {115, 120, 800'000, 4}, {121, 127, 1'600'000, 8},
};

bool AnyBit(std::span<const std::uint32_t> map, std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t bit = first; bit <= last && bit / 32 < map.size(); ++bit)
    if ((map[bit / 32] >> (bit % 32) & 1) != 0) return true;
  return false;
}

// The most specific ones first.
std::vector<std::string> FecNames(std::uint32_t bits) {
  constexpr std::pair<std::uint32_t, std::string_view> kNames[] = {{ETHTOOL_FEC_RS, "rs"},
                                                                   {ETHTOOL_FEC_BASER, "baser"},
                                                                   {ETHTOOL_FEC_LLRS, "llrs"},
                                                                   {ETHTOOL_FEC_OFF, "off"},
                                                                   {ETHTOOL_FEC_AUTO, "auto"}};
  std::vector<std::string> names;
  for (const auto& [bit, name] : kNames)
    if ((bits & bit) != 0) names.emplace_back(name);
  return names;
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
      ASSIGN_OR_RETURN(const std::uint32_t count, CheckedCount(netdev));
      ethtool_gstrings names{.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = count};
      ethtool_stats values{.cmd = ETHTOOL_GSTATS, .n_stats = count};
      RETURN_IF_ERROR(Fill(netdev, "counter names", names, buffers_.names.get()));
      RETURN_IF_ERROR(Fill(netdev, "counters", values, buffers_.values.get()));
      if (names.len == count && values.n_stats == count) return Combine(buffers_, count);
    }
    return Status(Code::kUnavailable,
                  "ethtool statistics of " + netdev + ": the set of counters keeps changing");
  }

  Result<std::vector<std::string>> StatisticNames(const std::string& netdev) override {
    const MutexLock lock(mutex_);
    ASSIGN_OR_RETURN(const std::uint32_t count, CheckedCount(netdev));
    ethtool_gstrings header{.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = count};
    RETURN_IF_ERROR(Fill(netdev, "counter names", header, buffers_.names.get()));
    std::vector<std::string> names;
    names.reserve(header.len);
    for (std::size_t i = 0; i < header.len; ++i) names.emplace_back(NameAt(buffers_, i));
    return names;
  }

  Status StatisticValues(const std::string& netdev, std::vector<std::uint64_t>& values) override {
    const MutexLock lock(mutex_);
    ethtool_stats header{.cmd = ETHTOOL_GSTATS, .n_stats = 0};  // The kernel says how many.
    RETURN_IF_ERROR(Fill(netdev, "counters", header, buffers_.values.get()));
    values.resize(std::min<std::size_t>(header.n_stats, kCountersRoom));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = ValueAt(buffers_, i);
    return {};
  }

  Result<PauseParameters> Pause(const std::string& netdev) override {
    ethtool_pauseparam pause{};
    pause.cmd = ETHTOOL_GPAUSEPARAM;
    RETURN_IF_ERROR(Ask(netdev, "pause parameters", &pause));
    return PauseParameters{
        .autonegotiate = pause.autoneg != 0, .rx = pause.rx_pause != 0, .tx = pause.tx_pause != 0};
  }

  Result<LinkSettings> Link(const std::string& netdev) override {
    // The kernel says at first how many words each of its maps has, as a negative number. The
    // maps: supported, advertised, of the link partner.
    constexpr int kWordsMax = 127;
    std::array<std::uint32_t, 3 * kWordsMax> maps{};
    alignas(ethtool_link_settings)
        std::byte buffer[sizeof(ethtool_link_settings) + sizeof(maps)] = {};
    ethtool_link_settings settings{.cmd = ETHTOOL_GLINKSETTINGS};
    RETURN_IF_ERROR(Fill(netdev, "link settings", settings, buffer));
    const int words = -settings.link_mode_masks_nwords;
    if (words <= 0 || words > kWordsMax)
      return Status(Code::kUnimplemented, "ethtool link settings of " + netdev + ": none");
    settings = {.cmd = ETHTOOL_GLINKSETTINGS,
                .link_mode_masks_nwords = static_cast<std::int8_t>(words)};
    RETURN_IF_ERROR(Fill(netdev, "link settings", settings, buffer));
    std::memcpy(maps.data(), buffer + sizeof(settings), sizeof(maps));
    LinkSettings link =
        DecodeLinkModes(settings.speed, std::span(maps).first(static_cast<std::size_t>(words)));
    link.autonegotiation = settings.autoneg == AUTONEG_ENABLE;
    return link;
  }

  Result<std::string> Fec(const std::string& netdev) override {
    ASSIGN_OR_RETURN(const ethtool_fecparam fec, FecParameters(netdev));
    const std::vector<std::string> active = FecNames(fec.active_fec);
    if (!active.empty()) return active.front();
    return Status(Code::kUnimplemented, "ethtool FEC of " + netdev + ": none reported");
  }

  Result<host::FecModes> FecModes(const std::string& netdev) override {
    ASSIGN_OR_RETURN(const ethtool_fecparam fec, FecParameters(netdev));
    return host::FecModes{.configured = FecNames(fec.fec)};
  }

  Result<std::vector<NamedCounter>> FecStatistics(const std::string& netdev) override {
    const MutexLock lock(mutex_);
    return netlink_.FecStatistics(netdev);
  }

  Result<std::vector<std::uint8_t>> ModuleEeprom(const std::string& netdev,
                                                 const ModulePlace& place) override {
    const MutexLock lock(mutex_);
    return netlink_.ModuleEeprom(netdev, place);
  }

  Result<std::uint16_t> PfcStormPreventionMs(const std::string& netdev) override {
    std::uint16_t ms = 0;
    const ethtool_tunable tunable{.cmd = ETHTOOL_GTUNABLE,
                                  .id = ETHTOOL_PFC_PREVENTION_TOUT,
                                  .type_id = ETHTOOL_TUNABLE_U16,
                                  .len = sizeof(ms)};
    alignas(ethtool_tunable) std::byte buffer[sizeof(tunable) + sizeof(ms)] = {};
    std::memcpy(buffer, &tunable, sizeof(tunable));
    RETURN_IF_ERROR(Ask(netdev, "PFC storm prevention", buffer));
    std::memcpy(&ms, buffer + sizeof(tunable), sizeof(ms));
    return ms;
  }

 private:
  Result<ethtool_fecparam> FecParameters(const std::string& netdev) const {
    ethtool_fecparam fec{};
    fec.cmd = ETHTOOL_GFECPARAM;
    RETURN_IF_ERROR(Ask(netdev, "FEC", &fec));
    return fec;
  }

  Status Ask(const std::string& netdev, std::string_view what, void* command) const {
    const auto doing = [&] { return Format("ethtool {} of {}", what, netdev); };
    if (socket_.get() < 0) return FromErrno(socket_error_, doing() + ": opening a socket");
    ifreq request{};
    if (netdev.empty() || netdev.size() >= sizeof(request.ifr_name))
      return {Code::kNotFound, doing() + ": no netdev can have this name"};
    std::memcpy(request.ifr_name, netdev.data(), netdev.size());
    request.ifr_data = static_cast<char*>(command);
    const WatchedCall call([&] { return Format("{}/ethtool {}", netdev, what); });
    RETURN_IF_ERROR(call.status());
    if (::ioctl(socket_.get(), SIOCETHTOOL, &request) != 0) return FromErrno(errno, doing());
    return {};
  }

  // Number of statistics; an error if there are none or more than kCountersMax.
  Result<std::uint32_t> CheckedCount(const std::string& netdev) const {
    ASSIGN_OR_RETURN(const std::uint32_t count, CountStatistics(netdev));
    if (count == 0)
      return Status(Code::kUnimplemented, "ethtool statistics of " + netdev + ": none");
    if (count > kCountersMax)
      return Status(Code::kResourceExhausted,
                    Format("ethtool statistics of {}: expected at most {} counters, saw {}", netdev,
                           kCountersMax, count));
    return count;
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
  EthtoolNetlink netlink_ GUARDED_BY(mutex_);
};

class CapturedEthtool final : public Ethtool {
 public:
  Result<DriverInfo> Driver(const std::string&) override { return Refusal(); }
  Result<std::vector<NamedCounter>> Statistics(const std::string&) override { return Refusal(); }
  Result<std::vector<std::string>> StatisticNames(const std::string&) override { return Refusal(); }
  Status StatisticValues(const std::string&, std::vector<std::uint64_t>&) override {
    return Refusal();
  }
  Result<PauseParameters> Pause(const std::string&) override { return Refusal(); }
  Result<LinkSettings> Link(const std::string&) override { return Refusal(); }
  Result<std::string> Fec(const std::string&) override { return Refusal(); }
  Result<host::FecModes> FecModes(const std::string&) override { return Refusal(); }
  Result<std::vector<NamedCounter>> FecStatistics(const std::string&) override { return Refusal(); }
  Result<std::vector<std::uint8_t>> ModuleEeprom(const std::string&, const ModulePlace&) override {
    return Refusal();
  }
  Result<std::uint16_t> PfcStormPreventionMs(const std::string&) override { return Refusal(); }

 private:
  static Status Refusal() { return {Code::kUnimplemented, "ethtool needs the live machine"}; }
};

}  // namespace

LinkSettings DecodeLinkModes(std::uint32_t speed_mbps, std::span<const std::uint32_t> supported) {
  constexpr std::uint64_t kBitsPerMegabit = 1'000'000;
  LinkSettings link;
  const bool known = speed_mbps != 0 && speed_mbps != static_cast<std::uint32_t>(SPEED_UNKNOWN);
  if (known) link.speed_bps = speed_mbps * kBitsPerMegabit;
  bool agree = true;
  for (const LinkModes& modes : kLinkModes) {
    if (!AnyBit(supported, modes.first_bit, modes.last_bit)) continue;
    link.speed_max_bps = std::max(link.speed_max_bps.value_or(0), modes.mbps * kBitsPerMegabit);
    if (!known || modes.mbps != speed_mbps) continue;
    agree = agree && (!link.lanes || *link.lanes == modes.lanes);
    link.lanes = modes.lanes;
  }
  if (!agree) link.lanes.reset();
  return link;
}

std::unique_ptr<Ethtool> OpenEthtool() {
  return std::make_unique<LiveEthtool>();
}
std::unique_ptr<Ethtool> NoEthtool() {
  return std::make_unique<CapturedEthtool>();
}

}  // namespace fabric::host
