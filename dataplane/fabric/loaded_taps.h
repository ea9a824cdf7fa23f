// SPDX-License-Identifier: Apache-2.0
// The taps of a loaded fabric: which tap copies from which links and ports.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "dataplane/fabric/assembly.h"
#include "dataplane/fabric/loaded_ports.h"
#include "dataplane/fabric/loaded_stages.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/runtime/grace_period.h"
#include "dataplane/stages/plan.h"
#include "dataplane/taps/tap.h"
#include "dataplane/taps/tap_table.h"

namespace bfly::dataplane {

class LoadedTaps final : public Taps {
 public:
  // All arguments must outlive the object.
  LoadedTaps(const Network& network, const FabricPlan& plan, LoadedStages& stages,
             LoadedPorts& ports, const Assembly& assembly, const Workers& workers)
      : network_(network),
        plan_(plan),
        stages_(stages),
        ports_(ports),
        assembly_(assembly),
        workers_(workers) {}

  absl::StatusOr<std::shared_ptr<Tap>> Start(const TapConfig& config) override;
  void Stop(const std::shared_ptr<Tap>& tap) override;
  // Control: calls `change`, which changes the list of ports. This object does not read the list
  // meanwhile. Then it offers the workers the tables of places that came or went.
  void ChangePorts(const std::function<void()>& change);
  // Call it after the workers have stopped for good and before the ports close.
  void End();

 private:
  // The place of a table: exactly one of the three pointers is not null.
  struct Place {
    Stage* stage = nullptr;
    HostInlet* inlet = nullptr;
    Egress* egress = nullptr;
    auto operator<=>(const Place&) const = default;
  };
  using Rules = std::map<Place, std::vector<TapRule>>;

  absl::Status Check(const TapConfig& config) const;
  // The caller of these functions holds mutex_.
  void Publish();
  bool WaitForWorkers();
  // Adds the rules of a tap, and returns how many links and ports of this data plane the rules
  // cover.
  size_t AddRules(const std::shared_ptr<Tap>& tap, Rules& rules) const;
  bool AddLink(const std::shared_ptr<Tap>& tap, const LinkId& link, TapRule rule,
               Rules& rules) const;
  size_t AddPath(const std::shared_ptr<Tap>& tap, const TapConfig::Path& path, Rules& rules) const;
  void AddEnd(const std::shared_ptr<Tap>& tap, Row output, TapRule rule, Rules& rules) const;
  void AddAtEgresses(const std::shared_ptr<Tap>& tap, const std::vector<Row>& at, TapRule rule,
                     Rules& rules) const;
  bool AddPort(const std::shared_ptr<Tap>& tap, const std::string& name, Rules& rules) const;
  static void SetTaps(const Place& place, const TapTable* taps);

  const Network& network_;
  const FabricPlan& plan_;
  LoadedStages& stages_;
  LoadedPorts& ports_;
  const Assembly& assembly_;
  const Workers& workers_;
  std::mutex mutex_;  // guards the members below; no worker takes it
  bool over_ = false;
  std::vector<std::shared_ptr<Tap>> taps_;
  std::vector<std::weak_ptr<Tap>> stopped_;  // stopped taps whose copies may still be taken
  std::map<Place, std::shared_ptr<const TapTable>> tables_;
  GracePeriod taken_up_;
  Retired retired_;
};

}  // namespace bfly::dataplane
