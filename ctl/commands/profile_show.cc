#include "ctl/profiles.h"
#include "daemon/profile/profile_yaml.h"

namespace fabric::ctl {
namespace {

constexpr Option kOptions[] = {
    {.name = "PROFILE",
     .value = "NAME|FILE",
     .doc = "One that comes with fabricctl, or a file of your own.",
     .required = true},
    {.name = "resolved",
     .type = OptionType::kBool,
     .doc = "With all that it inherits, and without the overrides."},
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
    .summary = "Print a profile, fit to be changed and used as a file.",
    .description = "Needs no controller.",
    .example = "fabricctl profile show roce-pfc-dcqcn",
    .options = kOptions,
    .run = RunProfileShow,
    .offline = true,
};

}  // namespace fabric::ctl
