#include "base/input.h"
#include "base/lists.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "daemon/profile/profile_yaml.h"

namespace fabric::ctl {
namespace {

constexpr Option kReloadOptions[] = {
    {.name = "author", .value = "NAME", .doc = "Author, for the audit log. Default: $USER."},
};

constexpr Option kProfileApplyOptions[] = {
    {.name = "FILE",
     .type = OptionType::kPath,
     .value = "FILE",
     .doc = "Profile in YAML; - reads standard input.",
     .required = true},
    {.name = "dry-run", .type = OptionType::kBool, .doc = "Only check the profile."},
    {.name = "author", .value = "NAME", .doc = "Author, for the audit log. Default: $USER."},
};

Output ReloadOutput(v1::ReloadResponse response, std::string_view what) {
  Output output;
  output.before =
      Format("{}: profile {}", what, response.profile().empty() ? "none" : response.profile());
  if (!response.log_level().empty())
    output.before +=
        Format(", {}, log level {}", Plural(response.rules(), "custom rule"), response.log_level());
  output.before += ".\n";
  for (const std::string& name : response.restart_needed())
    output.before += Format("Restart fabricd to use the new value of {}.\n", name);
  output.names.push_back(response.profile());
  output.message = std::make_unique<v1::ReloadResponse>(std::move(response));
  return output;
}

Result<Output> RunReload(Client& client, const Arguments& arguments, Stream&) {
  v1::ReloadRequest request;
  request.set_author(arguments.Text("author"));
  ASSIGN_OR_RETURN(v1::ReloadResponse response, client.Call<v1::ReloadResponse>(request));
  return ReloadOutput(std::move(response), "Reloaded");
}

Result<Output> RunProfileApply(Client& client, const Arguments& arguments, Stream&) {
  v1::ApplyProfileRequest request;
  ASSIGN_OR_RETURN(*request.mutable_yaml(),
                   ReadFile(arguments.Text("FILE"), profile::kFileBytesMax));
  // Errors with the name of this file.
  RETURN_IF_ERROR(profile::ParseProfiles(request.yaml(), arguments.Text("FILE")).status());
  request.set_dry_run(arguments.Bool("dry-run"));
  request.set_author(arguments.Text("author"));
  ASSIGN_OR_RETURN(v1::ReloadResponse response, client.Call<v1::ReloadResponse>(request));
  return ReloadOutput(std::move(response), request.dry_run() ? "Valid" : "Applied");
}

}  // namespace

extern const Command reload = {
    .path = "reload",
    .summary = "Let fabricd read its profile, custom rules and log level again.",
    .description =
        "The same as SIGHUP; the file of webhooks is read again, too. A file with an error is "
        "refused, and the previous one stays in use. TLS files, tokens and role bindings are "
        "reloaded without it when they change.",
    .example =
        "fabricctl reload\n"
        "fabricctl reload --author ada",
    .options = kReloadOptions,
    .run = RunReload,
};

extern const Command profile_apply = {
    .path = "profile apply",
    .summary = "Replace the profile of fabricd by a file.",
    .description =
        "fabricd checks the profile, writes it to the file of its setting `profile`, and judges "
        "all "
        "nodes by it. The setting must name a file that fabricd can write, such as "
        "/var/lib/fabricd/profile.yaml.",
    .example =
        "fabricctl profile apply site.yaml --dry-run\n"
        "fabricctl profile apply site.yaml",
    .options = kProfileApplyOptions,
    .run = RunProfileApply,
};

}  // namespace fabric::ctl
