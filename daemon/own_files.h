// Faults of the files of fabricd itself: passes changes of them to the controller, which has
// findings about them. Not thread-safe.
#pragma once

#include "base/clock.h"
#include "daemon/control/controller.h"
#include "daemon/rules/controller/controller_files.h"
#include "daemon/signing_keys.h"
#include "daemon/site_access.h"
#include "daemon/site_join.h"
#include "daemon/transport.h"

namespace fabric {

class OwnFiles {
 public:
  // All are borrowed. `join`: null without joining.
  OwnFiles(const Transport& transport, const SiteAccess& site, const SigningKeys& keys,
           const SiteJoin* join, control::Controller& controller)
      : transport_(transport), site_(site), keys_(keys), join_(join), controller_(controller) {}

  // Call it once a second, after the files were checked.
  void Check(WallTime now);

 private:
  rules::ControllerFiles Read(WallTime now) const;

  const Transport& transport_;
  const SiteAccess& site_;
  const SigningKeys& keys_;
  const SiteJoin* const join_;
  control::Controller& controller_;
  rules::ControllerFiles passed_on_;
};

}  // namespace fabric
