#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kSubnetListOptions[] = {kFilterOption};

Result<Output> RunSubnetList(Client& client, const Arguments& arguments, Stream&) {
  v1::ListSubnetsRequest request;
  request.set_filter(arguments.Text("filter"));
  ASSIGN_OR_RETURN(v1::ListSubnetsResponse response, client.List<v1::ListSubnetsResponse>(request));
  Output output;
  Table table{.columns = {{.title = "NAME"},
                          {.title = "SOURCE"},
                          {.title = "READ AT"},
                          {.title = "SWITCHES", .right_aligned = true},
                          {.title = "ADAPTERS", .right_aligned = true},
                          {.title = "CABLES", .right_aligned = true},
                          {.title = "PROBLEM"}},
              .empty_note =
                  "There are no InfiniBand subnets. Agents read them with the right to "
                  "open a umad device."};
  for (const v1::SubnetInfo& info : response.subnets()) {
    const auto number = [&](std::uint32_t value) {
      return Cell(info.has_read_at() ? std::to_string(value) : "");
    };
    table.rows.push_back({Cell(info.name()), Cell(info.source()), Cell(ToString(info.read_at())),
                          number(info.switches()), number(info.adapters()), number(info.cables()),
                          Cell(info.problem())});
    output.names.push_back(info.name());
  }
  output.tables.push_back(std::move(table));
  output.message = std::make_unique<v1::ListSubnetsResponse>(std::move(response));
  return output;
}

}  // namespace

extern const Command subnet_list = {
    .path = "subnet list",
    .summary = "List the InfiniBand subnets that the controller reads.",
    .description =
        "SOURCE is the port that reads the subnet, or the path of its files. PROBLEM is "
        "the reason why the subnet cannot be read now.",
    .example =
        "fabricctl subnet list\n"
        "fabricctl subnet list -o wide",
    .options = kSubnetListOptions,
    .run = RunSubnetList,
};

}  // namespace fabric::ctl
