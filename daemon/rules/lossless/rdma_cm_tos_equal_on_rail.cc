#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/numbers.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

std::optional<Value> Tos(const Member& member) {
  const PortView& port = *member.port;
  if (!CarriesRoce(port) || !port.port->roce_defaults().has_rdma_cm_tos()) return {};
  return Value{port.port->roce_defaults().rdma_cm_tos()};
}

std::string Path(const Member& member) {
  const PortView& port = *member.port;
  return Format("sys/kernel/config/rdma_cm/{}/ports/{}/default_roce_tos", port.device->name(),
                port.port->number());
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  const PortView& port = *member.port;
  return {ToRemedy({.command = Format("cd / && echo {} > {}", expected.number, Path(member)),
                    .note = "For connections made from then on."}),
          ToRemedy({.platform = "mlx5",
                    .command = Format("cma_roce_tos -d {} -p {} -t {}", port.device->name(),
                                      port.port->number(), expected.number),
                    .note = "The same with NVIDIA's tool."})};
}

constexpr EqualityRule kEqualityRules[] = {
    {.what = "default ToS of RDMA-CM",
     .value = Tos,
     .expected = NumberOf<&v1::Expectations::has_rdma_cm_tos, &v1::Expectations::rdma_cm_tos>,
     .source = Path,
     .remedies = Remedies}};

}  // namespace

extern const Rule rdma_cm_tos_equal_on_rail = {
    .id = "rdma_cm_tos_equal_on_rail",
    .title = "The default ToS of RDMA-CM is that of the profile, else the same on a rail",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "NVMe over fabrics, NFS and whatever else connects by RDMA-CM without saying how to mark "
        "its packets takes this ToS. With another one the traffic of this node rides in another "
        "priority than that of its partners, in one direction only.",
    .source = "kernel drivers/infiniband/core/cma_configfs.c (default_roce_tos)",
    .needs = {Input::kRoceDefaults},
    .profile = {v1::Expectations::kRdmaCmTosFieldNumber},
    .fix = "cma_roce_tos -d DEVICE -t 106",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
