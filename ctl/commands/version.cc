#include "base/version.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

Result<Output> RunVersion(Client& client, const Arguments&, Stream&) {
  auto message = std::make_unique<v1::GetVersionResponse>();
  std::string controller;
  if (auto response = client.Call<v1::GetVersionResponse>(v1::GetVersionRequest()); response.ok()) {
    *message = *std::move(response);
    controller = Format("{}, up since {}", message->version(), ToString(message->started_at()));
  } else {
    controller = Format("{} ({})", kAbsent, response.status().message());
  }
  Output output;
  output.before = Format("fabricctl {}\nfabricd   {}\n", kVersion, controller);
  output.names.emplace_back(kVersion);
  output.message = std::move(message);
  return output;
}

}  // namespace

extern const Command version = {
    .path = "version",
    .summary = "Show the versions of fabricctl and of the controller.",
    .description =
        "Works without a controller. -o json and -o yaml print the version of the controller; -o "
        "name prints the version of fabricctl.",
    .example =
        "fabricctl version\n"
        "fabricctl version -o json",
    .options = {},
    .run = RunVersion,
    .offline = true,
    .watch = true,
};

}  // namespace fabric::ctl
