#include "daemon/rules/remedy.h"

namespace fabric::rules {

v1::Remedy Change(ChangeText text) {
  v1::Remedy remedy;
  remedy.set_platform(std::string(text.platform));
  remedy.set_command(std::move(*text.command));
  remedy.set_affects(*text.affects);
  remedy.set_interrupts_traffic(!(*text.interrupts).empty());
  remedy.set_interrupts(std::move(*text.interrupts));
  remedy.set_persistence((*text.lasts).persistence);
  remedy.set_persist(std::move((*text.lasts).persist));
  remedy.set_undo(std::move(*text.undo));
  remedy.set_note(std::move(text.note));
  remedy.set_host(std::move(text.host));
  remedy.set_weakens_isolation(text.weakens_isolation);
  return remedy;
}

v1::Remedy Query(QueryText text) {
  v1::Remedy remedy;
  remedy.set_platform(std::string(text.platform));
  remedy.set_command(std::move(*text.command));
  remedy.set_affects(v1::REMEDY_REACH_NOTHING);
  remedy.set_note(std::move(text.note));
  remedy.set_host(std::move(text.host));
  return remedy;
}

v1::Remedy Advice(std::string note) {
  v1::Remedy remedy;
  remedy.set_platform("any");
  remedy.set_note(std::move(note));
  return remedy;
}

void SetHost(std::string_view host, v1::Remedy& remedy) {
  if (!remedy.command().empty() && remedy.host().empty()) remedy.set_host(std::string(host));
}

}  // namespace fabric::rules
