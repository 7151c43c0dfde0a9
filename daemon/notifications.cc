#include "daemon/notifications.h"

#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "daemon/http_fronts.h"
#include "daemon/notify/receivers.h"

namespace fabric {

Result<std::vector<notify::Receiver>> ReadReceivers(const Settings& settings,
                                                    const std::string& controller,
                                                    const Clock& clock) {
  std::vector<notify::Receiver> receivers;
  auto webhooks = notify::ReadWebhooks(settings.Text("webhooks"));
  if (!webhooks.ok()) return webhooks.status().In("webhooks");
  for (notify::Webhook& webhook : *webhooks) {
    log::Info("findings go to the webhook {} at {}:{}", webhook.name, webhook.url.host,
              webhook.url.port);
    receivers.push_back(notify::WebhookReceiver(std::move(webhook), controller, clock));
  }
  if (settings.Has("syslog")) {
    auto syslog = notify::SyslogReceiver(settings.Text("syslog"), MachineName());
    if (!syslog.ok()) return syslog.status().In("syslog");
    log::Info("findings go to syslog at {}", settings.Text("syslog"));
    receivers.push_back(*std::move(syslog));
  }
  return receivers;
}

Result<std::unique_ptr<notify::Notifier>> OpenNotifier(const Settings& settings,
                                                       const std::string& controller,
                                                       const Clock& clock) {
  ASSIGN_OR_RETURN(std::vector<notify::Receiver> receivers,
                   ReadReceivers(settings, controller, clock));
  return std::make_unique<notify::Notifier>(std::move(receivers), [](const std::string& line) {
    log::Warning("notifications: {}", line);
  });
}

}  // namespace fabric
