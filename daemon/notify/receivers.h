// Receivers of notifications: webhooks with a signature, and syslog.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/https/client.h"
#include "base/status.h"
#include "daemon/notify/notifier.h"

namespace fabric::notify {

struct Webhook {
  std::string name;
  https::Url url;
  std::string secret;  // Key of the signature
  std::string ca_file;
  v1::Severity min_severity = v1::SEVERITY_WARNING;
};

// Entries {name, url, secret-file, ca-file, min-severity} of a YAML list. INVALID_ARGUMENT with
// file, line and column; errors of the secret files.
Result<std::vector<Webhook>> ReadWebhooks(const std::string& path);

// {"event": "finding_opened", "at": TIME, "controller": ISSUER, "finding": {...}}
std::string BodyOf(const Notification& notification, std::string_view controller);

// Value of the header Fabricd-Signature: "t=SECONDS,v1=HEX", HMAC-SHA256 of "SECONDS.BODY".
std::string SignatureOf(std::string_view secret, std::int64_t seconds, std::string_view body);

// OK for 200 to 299. INVALID_ARGUMENT for 400 to 499 except 408 and 429: a repetition has the same
// answer. UNAVAILABLE otherwise.
Status StatusOfAnswer(int http_status);

// `clock` must outlive the receiver.
Receiver WebhookReceiver(Webhook webhook, std::string controller, const Clock& clock);

// `address`: the path of a datagram socket ("/dev/log"), or HOST:PORT of a syslog server over UDP.
// INVALID_ARGUMENT for other texts.
Result<Receiver> SyslogReceiver(const std::string& address, const std::string& host_name);

// A line of RFC 5424 (facility daemon), or without its header for a local socket.
std::string SyslogLine(const Notification& notification, const std::string& host_name, bool local);

}  // namespace fabric::notify
