#include "agents/probe/spec.h"

#include <gtest/gtest.h>

#include "agents/probe/probe.h"
#include "proto/json.h"
#include "proto/names.h"

namespace fabric::probe {
namespace {

struct BoundCase {
  const char* spec;
  const char* error;  // Empty: fine
};

class Bounds : public ::testing::TestWithParam<BoundCase> {};

TEST_P(Bounds, AreCheckedWithTheFieldAndTheNumbers) {
  v1::ProbeSpec spec;
  ASSERT_TRUE(FromJson(GetParam().spec, spec).ok());
  EXPECT_EQ(FindProbeKind(ProbeKindName(spec))->check(spec).message(), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Specs, Bounds,
    ::testing::Values(BoundCase{R"({"rc_write_latency": {}})", ""},
                      BoundCase{R"({"rc_write_bandwidth": {}})", ""},
                      BoundCase{R"({"rc_write_latency": {"message_bytes": 1048577}})",
                                "message_bytes: expected 0 to 1048576, saw 1048577"},
                      BoundCase{R"({"rc_write_latency": {"iterations": 4294967295}})",
                                "iterations: expected 0 to 1000000, saw 4294967295"},
                      BoundCase{R"({"rc_write_latency": {"warmup_iterations": 1000001}})",
                                "warmup_iterations: expected 0 to 1000000, saw 1000001"},
                      BoundCase{R"({"rc_write_bandwidth": {"message_bytes": 8388609}})",
                                "message_bytes: expected 1 to 8388608, saw 8388609"},
                      BoundCase{R"({"rc_write_bandwidth": {"queue_depth": 5000}})",
                                "queue_depth: expected 1 to 4096, saw 5000"},
                      BoundCase{R"({"rc_write_bandwidth": {}, "timeout_ms": 1})",
                                "timeout_ms: expected 10 to 600000, saw 1"},
                      BoundCase{R"({"rc_write_latency": {}, "traffic_class": 256})",
                                "traffic_class: expected 0 to 255, saw 256"},
                      BoundCase{R"({"rc_read_latency": {"message_bytes": 1048577}})",
                                "message_bytes: expected 0 to 1048576, saw 1048577"},
                      BoundCase{R"({"rc_atomic_latency": {"iterations": 1000001}})",
                                "iterations: expected 0 to 1000000, saw 1000001"},
                      BoundCase{R"({"rc_send_bandwidth": {"queue_pairs": 65}})",
                                "queue_pairs: expected 1 to 64, saw 65"},
                      BoundCase{R"({"rc_read_bandwidth": {"queue_pairs": 64,
                                    "message_bytes": 8388608}})",
                                "message_bytes and queue_pairs: expected at most 268435456 bytes "
                                "of memory, saw 536871040"},
                      BoundCase{R"({"ud_ping": {}})", ""},
                      BoundCase{R"({"ud_ping": {"message_bytes": 39}})",
                                "message_bytes: expected 40 to 4096, saw 39"},
                      BoundCase{R"({"ud_ping": {"flow_labels": [1, 1048576]}})",
                                "flow_labels: expected 0 to 1048575, saw 1048576"},
                      BoundCase{R"({"path_mtu": {}})", ""},
                      BoundCase{R"({"path_mtu": {}, "queue_pair": {"path_mtu_bytes": 1000}})",
                                "queue_pair.path_mtu_bytes: expected 256, 512, 1024, 2048 or "
                                "4096, saw 1000"},
                      BoundCase{R"({"path_mtu": {}, "queue_pair": {"timeout": 32}})",
                                "queue_pair.timeout: expected 0 to 31, saw 32"},
                      BoundCase{R"({"path_mtu": {}, "queue_pair": {"traffic_class": 8}})",
                                "queue_pair.traffic_class: not allowed here; set traffic_class of "
                                "the probe"}));

}  // namespace
}  // namespace fabric::probe
