#include "base/text.h"
#include "ctl/command.h"
#include "ctl/profiles.h"

namespace fabric::ctl {
namespace {

constexpr Option kProfileCheckOptions[] = {
    {.name = "FILE",
     .type = OptionType::kPath,
     .doc = "Profile in YAML; - is standard input.",
     .required = true,
     .repeated = true},
};

Result<Output> RunProfileCheck(Client&, const Arguments& arguments, Stream&) {
  Output output;
  auto list = std::make_unique<v1::ProfileList>();
  for (const std::string& file : arguments.All("FILE")) {
    ASSIGN_OR_RETURN(const profile::Profile profile, FindProfile(file));
    output.before += Format("{}: valid, profile {}\n", file, profile.name());
    output.names.push_back(profile.name());
    v1::Profile& resolved = *list->add_profiles();
    resolved.set_name(profile.name());
    *resolved.mutable_expect() = profile.Expect({});
  }
  output.message = std::move(list);
  return output;
}

}  // namespace

extern const Command profile_check = {
    .path = "profile check",
    .summary = "Check profile files for errors.",
    .description =
        "Prints every error with file, line and column. Exits with 2 if there is an error. Works "
        "without a controller.",
    .example =
        "fabricctl profile check ./site.yaml\n"
        "fabricctl profile check base.yaml site.yaml",
    .options = kProfileCheckOptions,
    .run = RunProfileCheck,
    .offline = true,
};

}  // namespace fabric::ctl
