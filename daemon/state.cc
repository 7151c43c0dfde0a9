#include "daemon/state.h"

#include <cstdio>

#include "base/log.h"
#include "daemon/store/copy.h"
#include "daemon/store/postgres/postgres.h"

namespace fabric {

Result<std::unique_ptr<store::Store>> OpenStore(const Settings& settings, Leadership* leadership,
                                                WallTime now) {
  if (leadership != nullptr) {
    const auto term = leadership->AwaitTerm({});
    if (!term) return leadership->Refusal();
    return store::OpenPostgres(leadership->url(), *term);
  }
  ASSIGN_OR_RETURN(std::unique_ptr<store::Store> store,
                   store::OpenSqlite(settings.Text("state"), now));
  if (const store::Damage& damage = store->damage(); !damage.file.empty())
    log::Error("the state file was damaged: moved to {}, {} rows recovered", damage.file,
               damage.recovered);
  return store;
}

Status CopyStateFrom(const Settings& settings) {
  const std::string from = settings.Text("copy-state-from");
  auto rows = store::CopyState(from, settings.Text("state"));
  if (!rows.ok()) return rows.status().In("copy-state-from");
  std::printf(
      "%llu rows copied. The signing key and the audit log are files of their own: copy them "
      "too.\n",
      static_cast<unsigned long long>(*rows));
  return {};
}

}  // namespace fabric
