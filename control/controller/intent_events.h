// SPDX-License-Identifier: Apache-2.0
// Makes an event of every committed change of circuits.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bfly/v1/events.pb.h"
#include "control/controller/loaded_intent.h"
#include "control/events/event_log.h"

namespace bfly::control {

// Told by the feed of the intent, which calls from one thread at a time.
class IntentEvents final : public CircuitListener {
 public:
  // Nothing may be loaded yet.
  IntentEvents(LoadedIntent& intent, EventLog& events);
  ~IntentEvents() override;

  void OnFabric(std::shared_ptr<const Network> network,
                const std::vector<StandingCircuit>& standing) override;
  void OnChange(const CircuitChange& change) override;

 private:
  // The circuit that stands at an input row; id 0: none does.
  struct Known {
    uint64_t id = 0;
    Tag tag = 0;
    bool broken = false;
  };
  void Note(Known& known, const Known& now, v1::CircuitsEvent& event);

  LoadedIntent& intent_;
  EventLog& events_;
  std::vector<Known> known_;  // by input row
  uint64_t standing_ = 0;
};

}  // namespace bfly::control
