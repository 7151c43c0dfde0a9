#include "agents/config.h"

namespace fabric::agent {
namespace {

constexpr Option kSettings[] = {
    {.name = "config", .type = OptionType::kPath, .doc = "File with settings, YAML."},
    {.name = "controller",
     .type = OptionType::kAddress,
     .doc = "Where fabricd takes agents; this or --no-controller is needed."},
    {.name = "no-controller",
     .type = OptionType::kBool,
     .doc = "Only inspect, and serve /metrics if asked to: nothing is told to a controller."},
    {.name = "metrics",
     .type = OptionType::kAddress,
     .doc = "Where to serve /metrics, usually on port 9417; nothing listens when it is not set."},
    {.name = "compat",
     .fallback = "none",
     .choices = "none|node-exporter",
     .doc = "Whose metrics are served beside our own, under the same names."},
    {.name = "node", .doc = "Name of this node; the host name when it is not set."},
    {.name = "root",
     .type = OptionType::kPath,
     .fallback = "/",
     .doc = "A captured tree to inspect instead of this machine."},
    {.name = "interval",
     .type = OptionType::kDuration,
     .fallback = "1s",
     .min = "100ms",
     .max = "1h",
     .doc = "How often counters are read."},
    {.name = "settings-interval",
     .type = OptionType::kDuration,
     .fallback = "30s",
     .min = "1s",
     .max = "1h",
     .doc = "How often all settings are read; those that an event is about are read at once."},
    {.name = "log-level",
     .fallback = "info",
     .choices = "debug|info|warning|error",
     .doc = "The least that is logged."},
};

}  // namespace

std::span<const Option> AgentSettings() {
  return kSettings;
}

Status CheckAgentSettings(const Settings& settings) {
  const bool controller = settings.Has("controller");
  if (controller != settings.Bool("no-controller")) return {};
  return {Code::kInvalidArgument,
          controller ? "expected either --controller or --no-controller, saw both"
                     : "expected --controller ADDR:PORT or --no-controller, saw neither"};
}

}  // namespace fabric::agent
