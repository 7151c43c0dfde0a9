#include "daemon/notify/receivers.h"

#include <netdb.h>
#include <openssl/hmac.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/atomic_file.h"
#include "base/grammar.h"
#include "base/input.h"
#include "base/text.h"
#include "daemon/access/access_file.h"
#include "proto/json.h"
#include "proto/names.h"
#include "proto/timestamps.h"

namespace fabric::notify {
namespace {

constexpr std::size_t kSecretBytesMax = 4096;
constexpr std::size_t kSecretBytesMin = 16;
constexpr std::size_t kLineBytesMax = 1024;  // RFC 5426 requires receivers to accept 480.
constexpr int kFacilityDaemon = 3;
constexpr std::size_t kCaBytesMax = 1 << 20;
constexpr Duration kWebhookPatience = std::chrono::seconds(5);

Result<v1::Severity> SeverityNamed(std::string_view name) {
  for (const v1::Severity severity :
       {v1::SEVERITY_INFO, v1::SEVERITY_WARNING, v1::SEVERITY_ERROR, v1::SEVERITY_CRITICAL})
    if (Name(severity) == name) return severity;
  return Status(Code::kInvalidArgument,
                Format("expected info, warning, error or critical, saw {}", Quoted(name)));
}

Result<std::string> ReadSecret(const std::string& path) {
  RETURN_IF_ERROR(CheckPrivate(path, "a secret"));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kSecretBytesMax));
  const std::string secret(Trim(text));
  if (secret.size() < kSecretBytesMin)
    return Status(Code::kInvalidArgument, Format("{}: expected at least {} bytes, saw {}", path,
                                                 kSecretBytesMin, secret.size()));
  return secret;
}

Result<Webhook> WebhookOf(const access::FileEntry& entry) {
  constexpr std::string_view kKeys[] = {"name", "url", "secret-file", "ca-file", "min-severity"};
  RETURN_IF_ERROR(entry.CheckKeys(kKeys));
  Webhook webhook;
  ASSIGN_OR_RETURN(webhook.name, entry.Text("name"));
  ASSIGN_OR_RETURN(const std::string url, entry.Text("url"));
  auto parsed = https::ParseHttpUrl(url);
  if (!parsed.ok()) return entry.Error("url", parsed.status().message());
  webhook.url = *std::move(parsed);
  ASSIGN_OR_RETURN(const std::string secret_file, entry.Text("secret-file"));
  auto secret = ReadSecret(secret_file);
  if (!secret.ok()) return entry.Error("secret-file", secret.status().message());
  webhook.secret = *std::move(secret);
  if (entry.Has("ca-file")) {
    ASSIGN_OR_RETURN(webhook.ca_file, entry.Text("ca-file"));
  }
  if (entry.Has("min-severity")) {
    ASSIGN_OR_RETURN(const std::string name, entry.Text("min-severity"));
    const auto severity = SeverityNamed(name);
    if (!severity.ok()) return entry.Error("min-severity", severity.status().message());
    webhook.min_severity = *severity;
  }
  return webhook;
}

// Severities of RFC 5424: 2 critical, 3 error, 4 warning, 6 informational.
int SyslogSeverity(v1::Severity severity) {
  switch (severity) {
    case v1::SEVERITY_CRITICAL: return 2;
    case v1::SEVERITY_ERROR: return 3;
    case v1::SEVERITY_WARNING: return 4;
    default: return 6;
  }
}

Status SendDatagram(int family, const sockaddr* address, socklen_t size, const std::string& line) {
  const int fd = ::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return FromErrno(errno, "syslog");
  const bool sent = ::sendto(fd, line.data(), line.size(), MSG_NOSIGNAL, address, size) >= 0;
  const int error = errno;
  ::close(fd);
  return sent ? Status() : Status(Code::kUnavailable, Format("syslog: {}", std::strerror(error)));
}

Status SendLocal(const std::string& path, const std::string& line) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return SendDatagram(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address, line);
}

Status SendRemote(const HostPort& to, const std::string& line) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (const int error =
          ::getaddrinfo(to.host.c_str(), Format("{}", to.port).c_str(), &hints, &found))
    return {Code::kUnavailable, Format("syslog: {}: {}", to.host, ::gai_strerror(error))};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  return SendDatagram(found->ai_family, found->ai_addr, found->ai_addrlen, line);
}

// The file of CAs is read each time, so that a new one is used without a restart.
Status Send(const Webhook& webhook, const std::string& body, WallTime now) {
  https::Limits limits{.patience = kWebhookPatience, .read_body = false};
  if (!webhook.ca_file.empty()) {
    ASSIGN_OR_RETURN(limits.ca_pem, ReadFile(webhook.ca_file, kCaBytesMax));
  }
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const https::Content content = {
      .type = "application/json",
      .body = body,
      .headers = {{"Fabricd-Signature", SignatureOf(webhook.secret, seconds, body)}}};
  ASSIGN_OR_RETURN(const https::Answer answer, https::Post(webhook.url, content, limits));
  return StatusOfAnswer(answer.status).In(ToString(HostPort{webhook.url.host, webhook.url.port}));
}

}  // namespace

Status StatusOfAnswer(int http_status) {
  if (http_status >= 200 && http_status < 300) return {};
  const bool final =
      http_status >= 400 && http_status < 500 && http_status != 408 && http_status != 429;
  return {final ? Code::kInvalidArgument : Code::kUnavailable,
          Format("HTTP status {}", http_status)};
}

Result<std::vector<Webhook>> ReadWebhooks(const std::string& path) {
  std::vector<Webhook> webhooks;
  if (path.empty()) return webhooks;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, access::kAccessFileBytesMax));
  RETURN_IF_ERROR(access::ReadEntries(text, path, [&](const access::FileEntry& entry) -> Status {
    ASSIGN_OR_RETURN(Webhook webhook, WebhookOf(entry));
    for (const Webhook& other : webhooks)
      if (other.name == webhook.name) return entry.Error("name", "expected distinct names");
    webhooks.push_back(std::move(webhook));
    return {};
  }));
  return webhooks;
}

std::string BodyOf(const Notification& notification, std::string_view controller) {
  return Format(R"({{"event":{},"at":{},"controller":{},"finding":{}}})",
                nlohmann::json(notification.event).dump(),
                nlohmann::json(ToString(ToProto(notification.at))).dump(),
                nlohmann::json(std::string(controller)).dump(),
                ToJson(notification.finding, false));
}

std::string SignatureOf(std::string_view secret, std::int64_t seconds, std::string_view body) {
  const std::string text = Format("{}.{}", seconds, body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  ::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data(), &size);
  std::string signature = Format("t={},v1=", seconds);
  for (unsigned int at = 0; at < size; ++at) signature += Format("{:02x}", bytes[at]);
  return signature;
}

Receiver WebhookReceiver(Webhook webhook, std::string controller, const Clock& clock) {
  return {.name = webhook.name,
          .min_severity = webhook.min_severity,
          .send = [webhook, controller = std::move(controller),
                   &clock](const Notification& notification) {
            return Send(webhook, BodyOf(notification, controller), clock.Now().wall);
          }};
}

std::string SyslogLine(const Notification& notification, const std::string& host_name, bool local) {
  const v1::Finding& finding = notification.finding;
  const bool resolved = notification.event == "finding_resolved";
  const int priority = kFacilityDaemon * 8 + (resolved ? 6 : SyslogSeverity(finding.severity()));
  const std::string head =
      local ? Format("<{}>fabricd: ", priority)
            : Format("<{}>1 {} {} fabricd - {} - ", priority, ToString(ToProto(notification.at)),
                     host_name.empty() ? "-" : host_name, notification.event);
  std::string text = Format("{} {} {} {}: {}", resolved ? "resolved" : "opened", finding.id(),
                            Name(finding.severity()), SubjectName(finding.subject()),
                            Format("{} ({})", finding.title(), finding.rule()));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  return (head + text).substr(0, kLineBytesMax);
}

Result<Receiver> SyslogReceiver(const std::string& address, const std::string& host_name) {
  Receiver receiver{.name = "syslog", .min_severity = v1::SEVERITY_INFO, .send = {}};
  if (address.starts_with('/')) {
    if (address.size() >= sizeof(sockaddr_un::sun_path))
      return Status(Code::kInvalidArgument, "expected a shorter path, saw " + Quoted(address));
    receiver.send = [address](const Notification& notification) {
      return SendLocal(address, SyslogLine(notification, "", true));
    };
    return receiver;
  }
  const auto to = ParseHostPort(address);
  if (!to.ok())
    return Status(Code::kInvalidArgument,
                  Format("expected a path such as /dev/log or HOST:PORT, saw {}", Quoted(address)));
  receiver.send = [to = *to, host_name](const Notification& notification) {
    return SendRemote(to, SyslogLine(notification, host_name, false));
  };
  return receiver;
}

}  // namespace fabric::notify
