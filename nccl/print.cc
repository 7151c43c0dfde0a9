#include <algorithm>

#include "base/text.h"
#include "nccl/advice.h"

namespace fabric::nccl {
namespace {

// A comment ends with its line: what comes from a captured tree must not end it.
std::string OnOneLine(const std::string& text) {
  std::string line = text;
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return line;
}

std::string Where(const v1::NcclPort& port) {
  return Format("{}:{}", port.device(), port.port());
}

}  // namespace

std::string EnvText(const v1::NcclAdvice& advice) {
  std::string text =
      "# NCCL variables for this machine, from fabric-agent nccl-env. To use them:\n"
      "#   set -a; . FILE; set +a\n";
  const auto remark = [&](std::string_view what, const std::string& name,
                          const std::string& reason) {
    text += Format("# {} {}: {}\n", what, OnOneLine(name), OnOneLine(reason));
  };
  if (advice.ports().empty()) text += "\n# No RDMA port of this machine is usable for NCCL.\n";
  for (const v1::NcclVariable& variable : advice.variables())
    text +=
        Format("\n# {}\n{}={}\n", OnOneLine(variable.reason()), variable.name(), variable.value());
  if (!advice.left_out().empty()) text += "\n";
  for (const v1::NcclPort& port : advice.left_out()) remark("left out", Where(port), port.reason());
  if (!advice.left_unset().empty()) text += "\n";
  for (const v1::NcclRemark& each : advice.left_unset())
    remark("not set", each.name(), each.reason());
  if (!advice.undecided().empty()) text += "\n";
  for (const v1::NcclRemark& each : advice.undecided())
    remark("undecided", each.name(), each.reason());
  return text;
}

std::string TableText(const v1::NcclAdvice& advice) {
  struct Row {
    std::string name, value, reason;
  };
  std::vector<Row> rows = {{"VARIABLE", "VALUE", "BECAUSE"}};
  for (const v1::NcclVariable& variable : advice.variables())
    rows.push_back({variable.name(), variable.value(), variable.reason()});
  for (const v1::NcclRemark& each : advice.left_unset())
    rows.push_back({each.name(), "(not set)", each.reason()});
  for (const v1::NcclRemark& each : advice.undecided())
    rows.push_back({each.name(), "(undecided)", each.reason()});
  for (const v1::NcclPort& port : advice.left_out())
    rows.push_back({Where(port), "(left out)", port.reason()});
  std::size_t name_width = 0, value_width = 0;
  for (const Row& row : rows) {
    name_width = std::max(name_width, row.name.size());
    value_width = std::max(value_width, row.value.size());
  }
  std::string text;
  if (advice.ports().empty()) text = "No RDMA port of this machine is usable for NCCL.\n";
  for (const Row& row : rows)
    text += Format("{:<{}}  {:<{}}  {}\n", OnOneLine(row.name), name_width, row.value, value_width,
                   OnOneLine(row.reason));
  return text;
}

}  // namespace fabric::nccl
