#include "daemon/config.h"

namespace fabric {
namespace {

constexpr Option kSettings[] = {
    {.name = "config",
     .type = OptionType::kPath,
     .doc = "YAML file with settings, one 'name: value' a line; flags win over it."},
    {.name = "grpc",
     .type = OptionType::kAddress,
     .fallback = "127.0.0.1:9418",
     .doc = "Where gRPC listens, for agents and clients; port 0 takes a free one."},
    {.name = "rest",
     .type = OptionType::kAddress,
     .fallback = "127.0.0.1:9419",
     .doc = "Where REST, server-sent events and /metrics listen; port 0 takes a free one."},
    {.name = "state",
     .type = OptionType::kPath,
     .fallback = "fabricd.db",
     .doc = "SQLite file that keeps nodes, findings and campaigns; made when missing."},
    {.name = "profile",
     .doc =
         "What is expected of the fabric: a profile that is shipped (fabricctl profile list), or "
         "a file; like ports are compared with each other where none says."},
    {.name = "infiniband-topology",
     .type = OptionType::kPath,
     .doc =
         "What ibnetdiscover prints, in a file: where InfiniBand ports are plugged in; read again "
         "when it changes."},
    {.name = "rules",
     .type = OptionType::kPath,
     .doc = "Rules of your own: a file, or a folder with *.yaml; one that is wrong is refused and "
            "logged, and disturbs no other."},
    {.name = "addresses-file",
     .type = OptionType::kPath,
     .doc = "JSON file that is written with the addresses once both are listened on."},
    {.name = "heartbeat-interval",
     .type = OptionType::kDuration,
     .fallback = "1s",
     .min = "10ms",
     .max = "1m",
     .doc = "How often agents are told to give a sign of life."},
    {.name = "lost-after",
     .type = OptionType::kDuration,
     .fallback = "3s",
     .min = "20ms",
     .max = "1h",
     .doc = "Silence after which a node counts as lost."},
    {.name = "boot-grace",
     .type = OptionType::kDuration,
     .fallback = "2m",
     .min = "0s",
     .max = "1h",
     .doc = "Findings about a machine are not opened before it has been up for so long."},
    {.name = "flap-hold",
     .type = OptionType::kDuration,
     .fallback = "2m",
     .min = "0s",
     .max = "1h",
     .doc = "A finding that comes and goes is resolved when it has stayed away for so long; 0s: at "
            "once."},
    {.name = "settings-age-max",
     .type = OptionType::kDuration,
     .fallback = "5m",
     .min = "1s",
     .max = "24h",
     .doc = "Verdicts expire when an agent has not told its settings for so long; at least twice "
            "its settings-interval, and 2m."},
    {.name = "signing-key",
     .type = OptionType::kPath,
     .doc = "Ed25519 private key in PEM that certificates are signed with; when not set, "
            "signing-key.pem beside the state file, which is made when missing."},
    {.name = "certificate-lifetime",
     .type = OptionType::kDuration,
     .fallback = "15m",
     .min = "1m",
     .max = "24h",
     .doc = "How long a certificate holds: facts get old."},
    {.name = "mesh",
     .fallback = "off",
     .choices = "on|off",
     .doc = "Whether agents ping each other all the time: fabricctl mesh shows what that says of "
            "the paths between leaves."},
    {.name = "mesh-paths",
     .type = OptionType::kNumber,
     .fallback = "16",
     .min = "1",
     .max = "128",
     .doc = "Paths of equal cost from one leaf to another; the mesh pings with so many flow labels "
            "that all of them are met."},
    {.name = "mesh-pings",
     .type = OptionType::kNumber,
     .fallback = "100",
     .min = "1",
     .max = "1000",
     .doc = "Pings a second of each node in the mesh, at most; agents send fewer where they would "
            "cost too much."},
    {.name = "log-level",
     .fallback = "info",
     .choices = "debug|info|warning|error",
     .doc = "The least important log lines that are written."},
};

}  // namespace

std::span<const Option> ControllerSettings() {
  return kSettings;
}

}  // namespace fabric
