#include "tests/tools/api_reference.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "agents/config.h"
#include "base/command_line.h"
#include "base/input.h"
#include "base/settings.h"
#include "base/text.h"
#include "base/version.h"
#include "daemon/api/metrics.h"
#include "daemon/api/rest/openapi.h"
#include "daemon/config.h"
#include "proto/bounds.h"
#include "tests/testing/paths.h"

namespace fabric::api {
namespace {

constexpr std::string_view kExamples = "/tests/tools/api_examples.json";
constexpr std::size_t kExamplesBytesMax = 1 << 20;

constexpr std::string_view kApiHead = R"(# API

Generated from `proto/fabric/v1/fabric.proto` by `api_reference`; do not edit.

Version v1 is frozen: names, numbers, types and paths do not change; new ones can be added.

Every call goes over gRPC (`fabric.v1.Fabric`, server reflection is on) and over REST with JSON by
the protobuf mapping: field names as below, 64-bit numbers as strings, times as RFC 3339. A field
that may be missing (`optional`, or a message) is left out when it is; every other one is always
there, so that 0 and "not read" stay two things. Path and query parameters set fields of the
request; repeat a parameter for a list; enumerators go by name or by their last words,
`min_severity=error`. Add `?pretty` for people.

Errors have the HTTP status of their code and a body like
`{"code":5,"message":"unknown node 'n9'","status":"NOT_FOUND"}`.

`GET /v1/events` answers with server-sent events: `id` is the sequence, `event` the name of the
field that is set (`node`, `finding`, `campaign`, `pair_result`, `port`), `data` the event as JSON.
`nodes` and `filter` select events. A client that reconnects with `Last-Event-ID` misses nothing
that is still kept. A client that does not keep up is dropped.

`GET /healthz` says `ok`, `GET /openapi.json` describes this API, `GET /metrics` is for Prometheus.

)";

constexpr std::string_view kSettingsHead = R"(# Settings

Generated from the tables of settings by `api_reference`; do not edit.

A value comes from the flag `--name VALUE`, else from the YAML file that `--config` names
(`name: value`), else it is the default. `--print-config` prints all of them and where each comes
from.

)";

constexpr std::string_view kMetricsHead = "## Metrics\n\nOf `GET /metrics` of the controller.\n\n";

constexpr std::string_view kBoundsHead = R"(# Bounds

Generated from `proto/bounds.h` by `api_reference`; do not edit.

One table for agents, controller and clients. A message is checked before it is decoded. Beyond a
bound it is refused with the bound in the error:
`NodeSnapshot.gaps: expected at most 4096 elements, saw 9000`. When an agent exceeds a bound, the
controller ends its session, counts it in `NodeSummary.bound_violations`, and opens the finding
[agent_over_budget](RULES.md) for the node until 10 minutes after the last violation. Beyond a rate,
the controller reads the messages of the agent later instead. An agent cuts a snapshot that exceeds
a bound, and reports the cut as a gap of `message_bounds`.

`Message.field` is the number of elements of a list in each message.

| bound | limit | unit | meaning |
|---|---|---|---|
)";

std::string BoundsReference() {
  std::string page(kBoundsHead);
  for (const Bound& bound : kBounds)
    page += Format("| `{}` | {} | {} | {} |\n", bound.name, bound.limit, bound.unit, bound.doc);
  return page;
}

}  // namespace

std::vector<GeneratedPage> ApiReferencePages(const std::string& descriptors) {
  std::ifstream in(descriptors, std::ios::binary);
  google::protobuf::FileDescriptorSet files;
  if (!files.ParseFromIstream(&in)) std::abort();
  google::protobuf::DescriptorPool pool;
  for (const auto& file : files.file())
    if (pool.BuildFile(file) == nullptr) std::abort();
  const auto* const service = pool.FindServiceByName("fabric.v1.Fabric");
  if (service == nullptr) std::abort();
  const auto examples = ReadFile(Format("{}{}", testing::kSourceDir, kExamples), kExamplesBytesMax);
  if (!examples.ok()) std::abort();
  const auto openapi =
      OpenApiJson({.service = *service, .version = kVersion, .examples = *examples});
  if (!openapi.ok()) {
    std::fprintf(stderr, "%s\n", openapi.status().message().c_str());
    std::abort();
  }
  return {
      {"API.md", std::string(kApiHead) + ApiReference(*service) + std::string(kMetricsHead) +
                     MetricsReference()},
      {"openapi.json", *openapi},
      {"SETTINGS.md", Format("{}{}\n", kSettingsHead, ValueForms()) +
                          SettingsReference("fabricd", ControllerSettings()) + "\n" +
                          SettingsReference("fabric-agent run", agent::AgentSettings())},
      {"BOUNDS.md", BoundsReference()},
  };
}

}  // namespace fabric::api
