// Options and output that the commands of `fabricctl pki` share.
#pragma once

#include <span>

#include "base/clock.h"
#include "base/options.h"
#include "ctl/command.h"
#include "ctl/pki.h"

namespace fabric::ctl {

inline constexpr Option kPkiFolderOption = {.name = "dir",
                                            .type = OptionType::kPath,
                                            .value = "FOLDER",
                                            .fallback = "fabricd-pki",
                                            .doc = "Folder of the CA."};
inline constexpr Option kPkiKindOption = {
    .name = "KIND",
    .choices = kPkiKinds,
    .doc =
        "node: an agent; server: the controller; viewer, operator, admin, metrics: a person or "
        "program with this role.",
    .required = true};
inline constexpr Option kPkiNameOption = {
    .name = "NAME", .doc = "Name of the node, server, person or program.", .required = true};

// Validity from now on, with a margin for clocks that are behind.
tls::Validity ValidityFrom(WallTime now, Duration lifetime);

struct PkiRun {
  const Arguments& arguments;
  Stream& stream;
  WallTime now;
};

// A table of certificates; names are the folders of their files. Writes JSON to the stream if the
// options ask for it, because the API has no message for them.
Output PkiOutput(const Pki& pki, std::span<const PkiEntry> entries, const PkiRun& run);

// Of a certificate that was issued: the table, and the paths of its files.
Output IssuedOutput(const Pki& pki, const PkiEntry& entry, const PkiRun& run);

}  // namespace fabric::ctl
