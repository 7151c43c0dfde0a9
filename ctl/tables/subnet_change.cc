#include "ctl/tables/subnet_change.h"

#include "base/lists.h"
#include "base/text.h"

namespace fabric::ctl {

std::string SubnetChangeText(const v1::SubnetChange& change) {
  switch (change.kind()) {
    case v1::SUBNET_CHANGE_KIND_MOVED:
      return Format("moved: {}, before {}", change.now(), change.before());
    case v1::SUBNET_CHANGE_KIND_GONE: return "gone: " + change.before();
    case v1::SUBNET_CHANGE_KIND_NEW: return "new: " + change.now();
    case v1::SUBNET_CHANGE_KIND_FLAPPED:
      return Format("down {}: {}", Plural(change.flaps(), "time"), change.now());
    case v1::SUBNET_CHANGE_KIND_ROUTES:
      return "routes changed while links, LIDs and master did not: " + change.now();
    case v1::SUBNET_CHANGE_KIND_MASTER:
      return Format("subnet manager: {}, before {}", change.now().empty() ? "none" : change.now(),
                    change.before().empty() ? "none" : change.before());
    default: return "unknown change; upgrade fabricctl";
  }
}

}  // namespace fabric::ctl
