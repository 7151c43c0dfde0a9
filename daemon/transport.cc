#include "daemon/transport.h"

#include <arpa/inet.h>

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "base/tls/openssl.h"
#include "daemon/api/listen_error.h"

namespace fabric {
namespace {

constexpr Duration kExpiryWarningEvery = std::chrono::hours(24);
constexpr std::array<std::string_view, 3> kRequired = {"tls-cert", "tls-key", "tls-ca"};

struct Listener {
  std::string_view setting;
  HostPort address;
};

std::vector<Listener> ListenersOf(const Settings& settings) {
  std::vector<Listener> listeners = {{"grpc", settings.Address("grpc")},
                                     {"rest", settings.Address("rest")},
                                     {"health", HealthAddress(settings)}};
  if (settings.Has("agents")) listeners.push_back({"agents", settings.Address("agents")});
  return listeners;
}

// A name could have any address: only "localhost" counts.
bool IsLoopback(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  if (inet_pton(AF_INET6, host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six) != 0;
  return host == "localhost";
}

// All of the files or none.
Result<bool> HasFiles(const Settings& settings) {
  std::string present;
  std::string missing;
  for (const std::string_view name : kRequired) (settings.Has(name) ? present : missing) = name;
  if (present.empty() && settings.Has("tls-crl")) present = "tls-crl";
  if (present.empty()) return false;
  if (settings.Text("tls") == "off")
    return Status(Code::kInvalidArgument,
                  Format("--{}: expected no certificates with tls: off, saw some", present));
  if (!missing.empty())
    return Status(Code::kInvalidArgument,
                  Format("--{}: expected a file, because --{} is set, saw none", missing, present));
  return true;
}

void LogPlain(const Settings& settings) {
  if (settings.Text("tls") != "off")
    return log::Info("no TLS certificates: listening on loopback only");
  for (const Listener& listener : ListenersOf(settings))
    if (!IsLoopback(listener.address.host))
      log::Warning(
          "--{} {} without TLS (tls: off): everyone who reaches this address has the roles of "
          "plain-roles ({})",
          listener.setting, ToString(listener.address), Join(settings.Words("plain-roles"), ", "));
}

// 0.0.0.0 has the addresses of each interface: a listener can take the address of another one. Else
// the error is that of another program.
Status WhyNotHeld(std::span<const Listener> before, const Listener& listener, const Status& error) {
  for (const Listener& other : before) {
    if (other.address.port != listener.address.port || !api::CheckListen(listener.address).ok())
      continue;
    const auto held = api::HeldAddress::Hold(other.address);
    if (held.ok() && !api::CheckListen(listener.address).ok())
      return {Code::kInvalidArgument,
              Format("--{}: expected another port than that of --{} ({}), which has the address {} "
                     "too",
                     listener.setting, other.setting, ToString(other.address),
                     ToString(listener.address))};
  }
  return error.In(Format("--{}", listener.setting));
}

std::int64_t Seconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

}  // namespace

// Without TLS, everyone who reaches a listener can use it.
Status CheckTransportSettings(const Settings& settings) {
  ASSIGN_OR_RETURN(const bool with_files, HasFiles(settings));
  if (with_files || settings.Text("tls") == "off") return {};
  for (const Listener& listener : ListenersOf(settings)) {
    if (IsLoopback(listener.address.host)) continue;
    return {Code::kInvalidArgument,
            Format("--{}: expected a loopback address, because TLS is not configured, saw {}; set "
                   "tls-cert, tls-key and tls-ca (fabricctl pki makes the files), or tls: off in a "
                   "network of tests",
                   listener.setting, ToString(listener.address))};
  }
  return {};
}

HostPort HealthAddress(const Settings& settings) {
  if (settings.Has("health")) return settings.Address("health");
  const HostPort rest = settings.Address("rest");
  return {rest.host, static_cast<std::uint16_t>(rest.port == 0 ? 0 : rest.port + 1)};
}

Status CheckListeners(const Settings& settings) {
  const std::vector<Listener> listeners = ListenersOf(settings);
  for (auto one = listeners.begin(); one != listeners.end(); ++one)
    for (auto other = listeners.begin(); other != one; ++other)
      if (one->address.port != 0 && ToString(one->address) == ToString(other->address))
        return {Code::kInvalidArgument,
                Format("--{}: expected another address than that of --{}, saw {} for both",
                       one->setting, other->setting, ToString(one->address))};
  std::vector<api::HeldAddress> held;
  for (auto one = listeners.begin(); one != listeners.end(); ++one) {
    auto address = api::HeldAddress::Hold(one->address);
    if (!address.ok()) {
      held.clear();
      return WhyNotHeld({listeners.begin(), one}, *one, address.status());
    }
    held.push_back(*std::move(address));
  }
  return {};
}

Result<std::unique_ptr<Transport>> Transport::Open(const Settings& settings, WallTime now) {
  auto transport = std::make_unique<Transport>();
  ASSIGN_OR_RETURN(const bool with_files, HasFiles(settings));
  if (!with_files) {
    LogPlain(settings);
    return transport;
  }
  RETURN_IF_ERROR(tls::RequireTls13());
  auto files = tls::TlsFiles::Open({.certificate = settings.Text("tls-cert"),
                                    .key = settings.Text("tls-key"),
                                    .ca = settings.Text("tls-ca"),
                                    .crl = settings.Text("tls-crl")},
                                   now);
  if (!files.ok()) return files.status().In("TLS");
  transport->files_ = *std::move(files);
  ASSIGN_OR_RETURN(transport->grpc_, api::GrpcTls::Make(*transport->files_));
  transport->http_.emplace(*transport->files_);
  log::Info("TLS 1.3 with the certificate {} ({}), valid until {}", settings.Text("tls-cert"),
            tls::NamesOf(*transport->files_->material().certificate),
            tls::ToText(transport->files_->not_after()));
  transport->LogExpiry(now);
  return transport;
}

void Transport::Check(WallTime now, api::AgentFront& agents) {
  if (files_ == nullptr) return;
  LogExpiry(now);
  switch (files_->Check(now)) {
    case tls::TlsFiles::Change::kNone: return;
    case tls::TlsFiles::Change::kRefused:
      return log::Error("new TLS files refused, the previous ones stay in use: {}",
                        files_->problem().message());
    case tls::TlsFiles::Change::kReloaded: break;
  }
  if (const Status used = grpc_->Update(); !used.ok())
    return log::Error("gRPC cannot use the new TLS files: {}", used.message());
  log::Info("TLS files reloaded; certificate valid until {}", tls::ToText(files_->not_after()));
  agents.Recheck();
}

void Transport::LogExpiry(WallTime now) {
  if (now - expiry_logged_ < kExpiryWarningEvery) return;
  for (const tls::FilePeriod& period : files_->Expiring(now)) {
    expiry_logged_ = now;
    log::Warning("{}: the {} expires at {}", period.path, period.what, tls::ToText(period.to));
  }
}

std::optional<api::TlsNumbers> Transport::Numbers() const {
  if (files_ == nullptr) return std::nullopt;
  return api::TlsNumbers{.not_before_seconds = Seconds(files_->not_before()),
                         .not_after_seconds = Seconds(files_->not_after()),
                         .files_refused = !files_->problem().ok()};
}

}  // namespace fabric
