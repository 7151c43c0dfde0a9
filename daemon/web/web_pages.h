// Files of the web page as pages of the REST server. They need no role: they contain no data of the
// site. The calls that the page makes need one.
#pragma once

#include <span>
#include <vector>

#include "daemon/api/rest/rest_service.h"
#include "daemon/web/web_files.h"

namespace fabric::web {

// index.html is also "/". Names below /assets/ have a hash, so browsers keep these files; others
// are checked by their ETag. The views of `files` must stay valid.
std::vector<api::Page> WebPages(std::span<const File> files);

}  // namespace fabric::web
