#include "ctl/client.h"
#include "ctl/command.h"

namespace fabric::ctl {
namespace {

constexpr Option kCompletionOptions[] = {{.name = "SHELL",
                                          .choices = "bash|zsh|fish",
                                          .doc = "Shell: bash, zsh or fish.",
                                          .required = true}};

// Each script passes the words after the program up to the cursor; fabricctl knows the rest.
constexpr std::string_view kBash = R"(# bash completion of fabricctl
_fabricctl() {
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _fabricctl fabricctl
)";

constexpr std::string_view kZsh = R"(#compdef fabricctl
_fabricctl() {
  local -a found
  found=("${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then compadd -a found; else _files; fi
}
# In a folder of fpath, this file is the function itself when it is called first.
if [[ "${funcstack[1]}" == _fabricctl ]]; then _fabricctl; else compdef _fabricctl fabricctl; fi
)";

constexpr std::string_view kFish = R"(# fish completion of fabricctl
function __fabricctl_complete
  set -l before (commandline -opc)
  $before[1] __complete -- $before[2..-1] (commandline -ct) 2>/dev/null
end
complete -c fabricctl -a '(__fabricctl_complete)'
)";

Result<Output> RunCompletion(Client&, const Arguments& arguments, Stream& stream) {
  const std::string shell = arguments.Text("SHELL");
  const std::string_view script = shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish;
  if (!stream.Write(script)) return Status(Code::kInternal, "cannot write to standard output");
  return Output();
}

}  // namespace

extern const Command completion = {
    .path = "completion",
    .summary = "Print the completion script for a shell.",
    .description =
        "Completes commands, options and values, and names of nodes, ports, findings, rules, "
        "campaigns, silences and contexts, which are read from the controller with a time limit of "
        "half a second. bash: source <(fabricctl completion bash). zsh: source <(fabricctl "
        "completion zsh) after compinit. fish: fabricctl completion fish | source.",
    .example =
        "fabricctl completion bash\n"
        "fabricctl completion fish > ~/.config/fish/completions/fabricctl.fish",
    .options = kCompletionOptions,
    .run = RunCompletion,
    .offline = true,
};

}  // namespace fabric::ctl
