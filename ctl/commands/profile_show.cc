#include "ctl/command.h"
#include "ctl/profiles.h"
#include "daemon/profile/profile_yaml.h"

namespace fabric::ctl {
namespace {

constexpr Option kProfileShowOptions[] = {
    {.name = "PROFILE",
     .value = "NAME|FILE",
     .doc = "Built-in profile, or a file.",
     .required = true},
    {.name = "resolved",
     .type = OptionType::kBool,
     .doc = "Include inherited values and omit the overrides."},
};

Result<Output> RunProfileShow(Client&, const Arguments& arguments, Stream&) {
  const std::string name = arguments.Text("PROFILE");
  Output output;
  auto profile = std::make_unique<v1::Profile>();
  if (arguments.Bool("resolved")) {
    ASSIGN_OR_RETURN(const profile::Profile resolved, FindProfile(name));
    profile->set_name(resolved.name());
    *profile->mutable_expect() = resolved.Expect({});
  } else {
    ASSIGN_OR_RETURN(*profile, FindProfileText(name));
  }
  output.before = profile::ToYaml(*profile);
  output.names = {profile->name()};
  output.message = std::move(profile);
  return output;
}

}  // namespace

extern const Command profile_show = {
    .path = "profile show",
    .summary = "Print a profile as YAML.",
    .description =
        "The output can be edited and used as a profile file. Works without a controller.",
    .example =
        "fabricctl profile show roce-pfc-dcqcn\n"
        "fabricctl profile show ./site.yaml --resolved",
    .options = kProfileShowOptions,
    .run = RunProfileShow,
    .offline = true,
};

}  // namespace fabric::ctl
