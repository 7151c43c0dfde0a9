// The subnet of the commands `subnet ...`: files, or a snapshot of the controller.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ctl/command.h"
#include "subnet/model.h"
#include "subnet/plan.h"

namespace fabric::ctl {

inline constexpr Option kSubnetFilesOption = {
    .name = "FILE",
    .type = OptionType::kPath,
    .doc =
        "Output of ibnetdiscover, dump_lfts or sminfo, or a dump of opensm (opensm-subnet.lst, "
        "opensm-lfts.dump, opensm.fdbs), also from a terminal log. Files of one subnet are "
        "combined. Default: the last snapshot of the controller.",
    .repeated = true};
inline constexpr Option kSubnetNameOption = {
    .name = "subnet",
    .doc =
        "Subnet of the controller, as `fabricctl subnet list` names it. Default: the only "
        "one."};

// Reads and combines the files, or fetches the subnet from the controller without a file. The
// error names the file or the subnet. `stream` shows the progress of reading files.
Result<subnet::Subnet> ReadSubnet(Client& client, const Arguments& arguments, Stream& stream);
Result<subnet::Subnet> ReadSubnet(const std::vector<std::string>& paths, Stream& stream);
Result<subnet::Plan> ReadPlanFile(const std::string& path);

// "read: ...", one line for each problem, at most 10.
std::string ProblemLines(const subnet::Problems& problems);

// Nodes with these names, descriptions, hosts, GUIDs or LIDs. Of hosts with several adapters, the
// adapters of one device name are a pair. NOT_FOUND with a suggestion; INVALID_ARGUMENT with the
// candidates without a pair.
struct EndPair {
  subnet::End from;
  subnet::End to;
};
Result<std::vector<EndPair>> FindPairs(const subnet::Subnet& subnet, const std::string& from,
                                       const std::string& to);

// The switch with this name, description, GUID or LID. NOT_FOUND with a suggestion;
// INVALID_ARGUMENT for several, or another node.
Result<std::uint32_t> FindSwitch(const subnet::Subnet& subnet, const std::string& name);

// Prints {"LIST":[item,...]}, with the members of `more` behind the list, if the output format is
// JSON or YAML. INTERNAL if printing failed.
Status PrintList(const Arguments& arguments, Stream& stream, std::string_view list,
                 const std::vector<nlohmann::ordered_json>& items,
                 const nlohmann::ordered_json& more);
Status PrintList(const Arguments& arguments, Stream& stream, std::string_view list,
                 const std::vector<nlohmann::ordered_json>& items);

}  // namespace fabric::ctl
