// SPDX-License-Identifier: Apache-2.0
#include "control/controller/intent_events.h"

#include <utility>

#include "control/events/event_record.h"

namespace bfly::control {
namespace {

void Count(uint64_t id, v1::CircuitCount* circuits) {
  circuits->set_count(circuits->count() + 1);
  if (circuits->ids_size() < kMostInEvent) circuits->add_ids(id);
}

}  // namespace

IntentEvents::IntentEvents(LoadedIntent& intent, EventLog& events)
    : intent_(intent), events_(events) {
  intent_.WatchFromStart(this);
}

IntentEvents::~IntentEvents() { intent_.Unwatch(this); }

void IntentEvents::OnFabric(std::shared_ptr<const Network> network,
                            const std::vector<StandingCircuit>& standing) {
  known_.assign(network == nullptr ? 0 : network->rows(), Known());
  standing_ = 0;
  OnChange({.install = standing, .remove = {}});
}

void IntentEvents::OnChange(const CircuitChange& change) {
  v1::Event event;
  v1::CircuitsEvent& circuits = *event.mutable_circuits();
  for (const StandingCircuit& circuit : change.install) {
    const Known now = {
        .id = circuit.id, .tag = circuit.path.tag, .broken = !circuit.broken.empty()};
    Note(known_[circuit.path.input], now, circuits);
  }
  for (const Row input : change.remove) Note(known_[input], Known(), circuits);
  // An earlier event may have reported a circuit over a link that went down.
  if (circuits.ByteSizeLong() == 0) return;
  circuits.set_standing(standing_);
  event.set_severity(circuits.has_broken()   ? v1::Event::WARNING
                     : circuits.has_mended() ? v1::Event::INFO
                                             : v1::Event::DEBUG);
  events_.Add(std::move(event));
}

void IntentEvents::Note(Known& known, const Known& now, v1::CircuitsEvent& event) {
  if (known.id != now.id) {
    if (known.id != 0) Count(known.id, event.mutable_released());
    if (now.id != 0) Count(now.id, event.mutable_set_up());
    standing_ += (now.id != 0 ? 1 : 0);
    standing_ -= (known.id != 0 ? 1 : 0);
    known = {.id = now.id, .tag = now.tag, .broken = false};
  }
  if (known.tag != now.tag) Count(now.id, event.mutable_moved());
  if (known.broken != now.broken) {
    Count(now.id, now.broken ? event.mutable_broken() : event.mutable_mended());
  }
  known = now;
}

}  // namespace bfly::control
