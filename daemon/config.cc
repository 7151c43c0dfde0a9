#include "daemon/config.h"

#include "base/log_settings.h"

namespace fabric {
namespace {

constexpr Option kSettings[] = {
    {.name = "config",
     .type = OptionType::kPath,
     .doc = "YAML file with settings, one 'name: value' per line. Flags override it."},
    {.name = "grpc",
     .type = OptionType::kAddress,
     .fallback = "127.0.0.1:9418",
     .doc = "Address of the gRPC server for agents and clients. Port 0 chooses a free port."},
    {.name = "agents",
     .type = OptionType::kAddress,
     .doc = "Address of a gRPC server of its own for agents and nodes that join; then grpc is for "
            "clients only. Port 0 chooses a free port. Default: grpc serves both."},
    {.name = "rest",
     .type = OptionType::kAddress,
     .fallback = "127.0.0.1:9419",
     .doc =
         "Address of the HTTP server for REST, server-sent events and /metrics. Port 0 chooses a "
         "free port."},
    {.name = "rest-hosts",
     .type = OptionType::kWords,
     .doc = "Names by which HTTP clients address the controller, besides localhost, the name of "
            "this machine and IP addresses: fabricd,fabricd.example.org. Requests with another "
            "Host header are refused; * accepts all."},
    {.name = "health",
     .type = OptionType::kAddress,
     .doc = "Address of the HTTP server for /livez, /readyz and /metrics, with a thread and limits "
            "of its own. Default: the host of rest and the next port; if the port of rest is 0, a "
            "free port."},
    {.name = "tls",
     .fallback = "on",
     .choices = "on|off",
     .doc = "on: without certificates, only loopback addresses are permitted. off: no TLS on any "
            "address, for networks of tests; see plain-roles."},
    {.name = "tls-cert",
     .type = OptionType::kPath,
     .doc = "Certificate of the controller with its chain (PEM), for gRPC, REST and health. With "
            "it, clients need TLS 1.3, and agents a certificate that names their node. The TLS "
            "files are reloaded when they change."},
    {.name = "tls-key", .type = OptionType::kPath, .doc = "Private key of tls-cert (PEM)."},
    {.name = "tls-ca",
     .type = OptionType::kPath,
     .doc = "CAs of the certificates of agents and clients (PEM)."},
    {.name = "tls-crl",
     .type = OptionType::kPath,
     .doc = "Revoked certificates (CRLs in PEM) of the CAs of tls-ca. Sessions of agents whose "
            "certificate is revoked end."},
    {.name = "state",
     .value = "FILE|URL",
     .doc = "Where nodes, findings and campaigns are kept: an SQLite file, created when missing, "
            "with the signing key and the audit log next to it; or postgresql://USER@HOST/DATABASE "
            "for several controllers, of which one leads (docs/OPERATIONS.md).",
     .required = true},
    {.name = "restore",
     .type = OptionType::kPath,
     .doc = "Command line only: replaces the file of the setting state by this backup, moves the "
            "previous file aside, and ends. fabricd must not run."},
    {.name = "copy-state-from",
     .doc = "Copy everything from this state, a file or a URL, into the setting state, which must "
            "be empty and of the other kind, and exit. No controller may run."},
    {.name = "lease",
     .type = OptionType::kDuration,
     .fallback = "3s",
     .min = "1s",
     .max = "1m",
     .doc = "With a state in PostgreSQL: time after which another controller takes over from a "
            "leader that does not renew its lease. The same for all controllers."},
    {.name = "profile",
     .doc =
         "Expected settings of the fabric: a shipped profile (fabricctl profile list) or a file. "
         "Settings without an expectation are compared between ports."},
    {.name = "infiniband-topology",
     .type = OptionType::kPath,
     .doc =
         "Cabling and routing of InfiniBand: output of ibnetdiscover, or a directory with the "
         "files of "
         "a subnet (see docs/INFINIBAND.md), or with a subdirectory for each subnet. Reloaded when "
         "it changes."},
    {.name = "infiniband-plan",
     .type = OptionType::kPath,
     .doc = "Cable plan of the subnets that agents read: an NDT file, a topo file of ibdiagnet, or "
            "saved output of ibnetdiscover. One file for all subnets. Reloaded when it changes."},
    {.name = "infiniband-interval",
     .type = OptionType::kDuration,
     .fallback = "1m",
     .min = "0s",
     .max = "1h",
     .doc = "Interval at which one agent of each InfiniBand subnet reads it: an agent that may "
            "open a umad device (drop-in fabric-agent-umad.conf). At least 5s; 0s: never."},
    {.name = "infiniband-extra-hops",
     .type = OptionType::kNumber,
     .max = "64",
     .doc = "Switches above the minimum that the routing engine of InfiniBand may use. Default: 0 "
            "on trees; unknown elsewhere."},
    {.name = "infiniband-oversubscription",
     .value = "RATIO",
     .doc = "Largest ratio of bandwidth down to bandwidth up of an InfiniBand switch: 1, 2.5."},
    {.name = "infiniband-several-lanes",
     .type = OptionType::kBool,
     .doc = "The routing engine of InfiniBand avoids credit loops by virtual lanes (dfsssp, lash, "
            "torus-2QoS), which no file shows."},
    {.name = "infiniband-routing",
     .value = "ENGINE",
     .doc = "Routing engine of the subnet manager of InfiniBand, whose properties the tables must "
            "have: minhop, updn, ftree, dfsssp, sssp, lash."},
    {.name = "rules",
     .type = OptionType::kPath,
     .doc = "Custom rules: a file or a directory of *.yaml. Invalid rules are logged and skipped."},
    {.name = "webhooks",
     .type = OptionType::kPath,
     .doc = "YAML file with webhooks that get opened and resolved findings: a list of {name, url, "
            "secret-file, ca-file, min-severity}. Each request has an HMAC-SHA256 signature by the "
            "secret."},
    {.name = "syslog",
     .doc = "Send opened and resolved findings to syslog: /dev/log, or HOST:PORT of a server over "
            "UDP (RFC 5424)."},
    {.name = "otlp-endpoint",
     .type = OptionType::kAddress,
     .doc = "Send metrics and events to the OpenTelemetry collector at this address (OTLP over "
            "gRPC, often port 4317). Default: off."},
    {.name = "otlp-interval",
     .type = OptionType::kDuration,
     .fallback = "60s",
     .min = "1s",
     .max = "10m",
     .doc = "Interval at which metrics go to the OTLP collector. Events go within a second."},
    {.name = "otlp-compression",
     .fallback = "gzip",
     .choices = "gzip|none",
     .doc = "Compression of what goes to the OTLP collector."},
    {.name = "otlp-events",
     .value = "FILTER",
     .doc = "Events that go to the OTLP collector, as with fabricctl events --filter: 'kind!=probe "
            "kind!=port'. Gaps always go. Default: all."},
    {.name = "otlp-tls",
     .fallback = "on",
     .choices = "on|off",
     .doc = "off: no TLS to the OTLP collector, for one on the same machine or in a network of "
            "tests."},
    {.name = "otlp-ca",
     .type = OptionType::kPath,
     .doc = "CAs of the OTLP collector's certificate (PEM). Required with TLS. The TLS files are "
            "reloaded when they change."},
    {.name = "otlp-cert",
     .type = OptionType::kPath,
     .doc = "Client certificate for the OTLP collector with its chain (PEM)."},
    {.name = "otlp-key", .type = OptionType::kPath, .doc = "Private key of otlp-cert (PEM)."},
    {.name = "otlp-headers",
     .type = OptionType::kPath,
     .doc = "File with headers of each request to the OTLP collector, such as a token: a line "
            "'authorization: Bearer TOKEN'. Mode 0600 or 0640. Needs TLS. Read for each request."},
    {.name = "manual",
     .type = OptionType::kPath,
     .value = "DIRECTORY",
     .doc = "Directory with the manual, as deploy/manual/build.py writes it, that REST serves at "
            "/docs/. It is read when fabricd starts."},
    {.name = "addresses-file",
     .type = OptionType::kPath,
     .doc = "Write the bound addresses to this JSON file at start-up."},
    {.name = "heartbeat-interval",
     .type = OptionType::kDuration,
     .fallback = "1s",
     .min = "100ms",
     .max = "1m",
     .doc = "Heartbeat interval requested from agents."},
    {.name = "lost-after",
     .type = OptionType::kDuration,
     .fallback = "3s",
     .min = "20ms",
     .max = "1h",
     .doc = "Time without a message after which a node is marked lost."},
    {.name = "boot-grace",
     .type = OptionType::kDuration,
     .fallback = "2m",
     .min = "0s",
     .max = "1h",
     .doc = "Uptime of a machine before findings about it are opened."},
    {.name = "flap-hold",
     .type = OptionType::kDuration,
     .fallback = "2m",
     .min = "0s",
     .max = "1h",
     .doc = "Time without the fault after which a flapping finding is resolved. 0s: immediately."},
    {.name = "settings-age-max",
     .type = OptionType::kDuration,
     .fallback = "5m",
     .min = "1s",
     .max = "24h",
     .doc = "Maximum age of an agent's settings before its verdicts expire (at least 2m and twice "
            "settings-interval)."},
    {.name = "node-expiry",
     .type = OptionType::kDuration,
     .fallback = "0s",
     .min = "0s",
     .max = "9000h",
     .doc =
         "Remove a node with everything about it when it has been lost for this time; 0s: never. "
         "The time starts again when fabricd starts."},
    {.name = "remediation",
     .fallback = "off",
     .choices = "off|approve|automatic",
     .doc = "Drains and taints of nodes that programs of schedulers propose. off: refuse them; "
            "approve: a person approves each (`fabricctl remedy approve`); automatic: approve them "
            "within the limits."},
    {.name = "remediation-per-hour",
     .type = OptionType::kNumber,
     .fallback = "4",
     .min = "0",
     .max = "1000",
     .doc = "Maximum number of drains and taints that are approved in an hour."},
    {.name = "remediation-percent",
     .type = OptionType::kNumber,
     .fallback = "10",
     .min = "0",
     .max = "100",
     .doc = "Maximum share of the nodes that are drained or have a taint at a time, in percent, "
            "rounded down."},
    {.name = "signing-key",
     .type = OptionType::kPath,
     .doc = "Ed25519 private keys (PEM); the first one signs certificates, the others are those "
            "before it. Default: signing-key.pem in the directory of the state file, created when "
            "missing. Reloaded when it changes."},
    {.name = "certificate-lifetime",
     .type = OptionType::kDuration,
     .fallback = "15m",
     .min = "1m",
     .max = "24h",
     .doc = "Certificate validity period."},
    {.name = "trust-domain",
     .fallback = "fabric",
     .doc = "Trust domain of client certificates: spiffe://DOMAIN/ROLE/NAME has the role ROLE, and "
            "spiffe://DOMAIN/node/NAME is the agent of the node NAME."},
    {.name = "join-ca",
     .type = OptionType::kPath,
     .doc = "CA that signs certificates of nodes that join (PEM); one of tls-ca, or signed by one. "
            "Without it, nodes cannot join. Reloaded when it changes."},
    {.name = "join-ca-key",
     .type = OptionType::kPath,
     .doc = "Private key of join-ca (PEM). Required with join-ca. Reloaded when it changes."},
    {.name = "join-lifetime",
     .type = OptionType::kDuration,
     .fallback = "30d",
     .min = "10s",
     .max = "365d",
     .doc = "Validity period of certificates of nodes that join. Agents renew them after two "
            "thirds of it."},
    {.name = "role-bindings",
     .type = OptionType::kPath,
     .doc = "YAML file with the roles of other identities in client certificates: a list of "
            "{identity: PATTERN, roles: [ROLE]}. Reloaded when it changes."},
    {.name = "tokens",
     .type = OptionType::kPath,
     .doc = "YAML file with the hashes of bearer tokens; fabricctl token create prints its lines. "
            "Mode 0600 or 0640. Reloaded when it changes."},
    {.name = "oidc-issuer",
     .doc =
         "Issuer of OIDC tokens that fabricd accepts: https://login.example.org. Their roles are "
         "in role-bindings, as oidc:NAME and oidc-group:GROUP."},
    {.name = "oidc-audience",
     .doc =
         "Audience of OIDC tokens: the name of fabricd at the issuer. Required with oidc-issuer."},
    {.name = "oidc-keys",
     .type = OptionType::kPath,
     .doc = "Public keys of the issuer (JWKS): a file, reloaded when it changes, or a URL with "
            "https://. Default: the URL in the issuer's discovery document. Keys of a URL are "
            "fetched every 5 minutes, and when a token names a new key."},
    {.name = "oidc-ca",
     .type = OptionType::kPath,
     .doc = "CA of the issuer's HTTPS server (PEM). Default: the CAs of the system."},
    {.name = "oidc-name-claim",
     .fallback = "sub",
     .doc = "Claim of OIDC tokens with the name of the person or program."},
    {.name = "oidc-groups-claim",
     .fallback = "groups",
     .doc = "Claim of OIDC tokens with the groups."},
    {.name = "loopback-roles",
     .type = OptionType::kWords,
     .fallback = "admin,agent,metrics",
     .doc = "Roles of callers on the loopback interface without encryption and token. none: such "
            "callers have no role."},
    {.name = "plain-roles",
     .type = OptionType::kWords,
     .fallback = "viewer,agent,metrics",
     .doc =
         "Roles of callers without encryption from other addresses than loopback, with tls: off. "
         "none: such callers have no role."},
    {.name = "role-limits",
     .type = OptionType::kWords,
     .doc =
         "Changes of the limits of one identity by its highest role, as ROLE.LIMIT=NUMBER; 0: no "
         "limit. Default: viewer.per-second=200, viewer.in-flight=6, "
         "viewer.bytes-per-second=67108864, operator.per-second=2000 (docs/ACCESS.md)."},
    {.name = "audit-log",
     .type = OptionType::kPath,
     .doc =
         "SQLite file of the audit log. Default: the name of the state file with .audit. Created "
         "when missing."},
    {.name = "audit-entries",
     .type = OptionType::kNumber,
     .fallback = "100000",
     .min = "100",
     .max = "10000000",
     .doc = "Maximum number of entries in the audit log, about 1 kB each. The oldest are removed."},
    {.name = "mesh",
     .fallback = "off",
     .choices = "on|off",
     .doc = "Continuous pings between agents; fabricctl mesh shows the paths between leaves."},
    {.name = "mesh-paths",
     .type = OptionType::kNumber,
     .fallback = "16",
     .min = "1",
     .max = "128",
     .doc = "Number of equal-cost paths between leaves. The mesh uses enough flow labels to cover "
            "them all."},
    {.name = "mesh-pings",
     .type = OptionType::kNumber,
     .fallback = "100",
     .min = "1",
     .max = "1000",
     .doc = "Maximum pings per second of each node in the mesh. Agents send fewer when the load is "
            "too high."},
    {.name = "pairs-at-once-max",
     .type = OptionType::kNumber,
     .fallback = "64",
     .min = "1",
     .max = "8192",
     .doc = "Maximum pairs that probe at the same time, over all campaigns. A larger number ends "
            "campaigns of a large fabric sooner, and loads the fabric more."},
    kLogLevelSetting,
    kLogFormatSetting,
};

}  // namespace

std::span<const Option> ControllerSettings() {
  return kSettings;
}

}  // namespace fabric
