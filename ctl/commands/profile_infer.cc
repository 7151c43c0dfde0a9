#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/item_progress.h"
#include "ctl/snapshots.h"
#include "daemon/infer/infer.h"

namespace fabric::ctl {
namespace {

constexpr Option kProfileInferOptions[] = {
    {.name = "SNAPSHOT",
     .type = OptionType::kPath,
     .doc = "Output of `fabric-agent inspect -o json` on each node; - is standard input.",
     .repeated = true},
};

Result<v1::InferProfileResponse> Infer(Client& client, const std::vector<std::string>& files,
                                       Stream& stream) {
  if (files.empty()) return client.Call<v1::InferProfileResponse>(v1::InferProfileRequest());
  FileProgress progress(stream, "profile infer", files);
  ASSIGN_OR_RETURN(const std::vector<fleet::NodeRecord> records,
                   ReadSnapshots(files, [&] { progress.Next(); }));
  return infer::InferProfile(fleet::FleetView(records));
}

Result<Output> RunProfileInfer(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(v1::InferProfileResponse response,
                   Infer(client, arguments.All("SNAPSHOT"), stream));
  Output output;
  output.before = response.yaml();
  for (const v1::InferredValue& value : response.values())
    if (!value.value().empty()) output.names.push_back(value.field());
  output.message = std::make_unique<v1::InferProfileResponse>(std::move(response));
  return output;
}

}  // namespace

extern const Command profile_infer = {
    .path = "profile infer",
    .summary = "Print a profile with the values that most nodes have.",
    .description =
        "Uses the nodes of the controller, or snapshot files without a controller. Compares the "
        "same ports and nodes as the rules do, and adds overrides if rails, models or drivers "
        "differ. Comments list the nodes that differ and the values without a majority. The "
        "majority can be wrong: review the profile before you use it. -o json includes the counts.",
    .example =
        "fabricctl profile infer n1.json n2.json n3.json > site.yaml\n"
        "fabricctl profile infer > site.yaml",
    .options = kProfileInferOptions,
    .run = RunProfileInfer,
    .offline = true,
};

}  // namespace fabric::ctl
