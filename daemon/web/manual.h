// The manual, a static site that deploy/manual/build.py builds, as pages of the REST server below
// /docs/. It needs no role: it contains no data of the site.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/api/rest/rest_service.h"

namespace fabric::web {

// Reads the files of the folder into memory. Only these can be requested: a request never opens a
// file. Links, hidden files and files of other types than those of the manual are left out. An
// empty path gives no pages. Fails without an index.html, and for more than 16 MiB.
Result<std::vector<api::Page>> ReadManual(const std::string& folder);

}  // namespace fabric::web
