// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/planned_faults.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/topology_file/ranges.h"
#include "topologies/fault_plan.h"

namespace bfly::control {
namespace {

// Numbers below `count`. An empty text means all of them.
class Numbers {
 public:
  Numbers(const std::string& text, uint32_t count, const char* what)
      : ranges_(ParseRanges(text.empty() ? absl::StrCat("0-", count - 1) : text)) {
    if (ranges_.ok()) status_ = CheckRanges(*ranges_, count - 1, what);
  }

  // Reports numbers that the network does not have at `field`. The schema reports other mistakes.
  void Check(const std::string& field, const std::string& text,
             std::vector<Violation>* violations) const {
    if (!ranges_.ok() || status_.ok()) return;
    violations->push_back({field, Quotable(text), std::string(status_.message())});
  }
  uint64_t size() const { return ranges_.ok() ? CountOf(*ranges_) : 0; }

  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const Range& range : *ranges_) {
      for (uint32_t number = range.first;; ++number) {
        visit(number);
        if (number == range.last) break;
      }
    }
  }

 private:
  absl::StatusOr<std::vector<Range>> ranges_;
  absl::Status status_;
};

struct ChosenLinks {
  ChosenLinks(const v1::FaultyLinks& entry, const Network& network)
      : stages(entry.stages(), static_cast<uint32_t>(network.stages()), "stage"),
        rows(entry.rows(), network.rows(), "row") {}
  Numbers stages;
  Numbers rows;
};

struct ChosenNodes {
  ChosenNodes(const v1::FaultyNodes& entry, const Network& network)
      : levels(entry.levels(), static_cast<uint32_t>(network.levels()), "level"),
        rows(entry.rows(), network.rows(), "row") {}
  Numbers levels;
  Numbers rows;
};

AdversarialFaults AdversaryOf(const v1::Faults& faults) {
  return {.links = faults.adversarial().links(), .nodes = faults.adversarial().nodes()};
}

}  // namespace

std::vector<Violation> CheckFaults(const v1::Faults& faults, const Network& network,
                                   const std::string& path) {
  std::vector<Violation> violations;
  uint64_t named = 0;
  for (int i = 0; i < faults.links_size(); ++i) {
    const v1::FaultyLinks& entry = faults.links(i);
    const std::string at = absl::StrCat(path, ".links[", i, "]");
    const ChosenLinks chosen(entry, network);
    chosen.stages.Check(at + ".stages", entry.stages(), &violations);
    chosen.rows.Check(at + ".rows", entry.rows(), &violations);
    if (entry.has_port() && static_cast<int>(entry.port()) >= network.ports()) {
      violations.push_back(
          {at + ".port", absl::StrCat(entry.port()),
           absl::StrCat(entry.port(), " is not a port of this network (allowed: 0..",
                        network.ports() - 1, ")")});
    }
    named += chosen.stages.size() * chosen.rows.size() *
             (entry.has_port() ? 1 : static_cast<uint64_t>(network.ports()));
  }
  for (int i = 0; i < faults.nodes_size(); ++i) {
    const v1::FaultyNodes& entry = faults.nodes(i);
    const std::string at = absl::StrCat(path, ".nodes[", i, "]");
    const ChosenNodes chosen(entry, network);
    chosen.levels.Check(at + ".levels", entry.levels(), &violations);
    chosen.rows.Check(at + ".rows", entry.rows(), &violations);
    named += chosen.levels.size() * chosen.rows.size();
  }
  const absl::Status adversary = CheckAdversary(AdversaryOf(faults), network);
  if (!adversary.ok()) {
    const std::string message(adversary.message());
    const size_t colon = message.find(": ");
    violations.push_back({absl::StrCat(path, ".adversarial.", message.substr(0, colon)), "",
                          message.substr(colon + 2)});
  }
  // The adversary takes switches of the last stage first, and then links of its other switches.
  const uint64_t switches = std::min<uint64_t>(faults.adversarial().nodes(), network.rows());
  const uint64_t left = (network.rows() - switches) * static_cast<uint64_t>(network.ports());
  named += switches + std::min<uint64_t>(faults.adversarial().links(), left);
  // Nodes are drawn at all levels or, without `ends`, between inputs and outputs.
  const int levels = faults.random().ends() ? network.levels() : network.stages() - 1;
  const uint64_t nodes = static_cast<uint64_t>(levels) * network.rows();
  const double drawn = faults.random().links() * static_cast<double>(network.link_count()) +
                       faults.random().nodes() * static_cast<double>(nodes);
  if (static_cast<double>(named) + drawn > static_cast<double>(kMostPlannedFaults)) {
    violations.push_back(
        {path, "",
         absl::StrCat("takes about ", static_cast<uint64_t>(static_cast<double>(named) + drawn),
                      " links and nodes down (allowed: at most ", kMostPlannedFaults, ")")});
  }
  return violations;
}

FaultSet PlannedFaults(const v1::Faults& faults, const Network& network) {
  FaultSet planned(network);
  for (const v1::FaultyLinks& entry : faults.links()) {
    const ChosenLinks chosen(entry, network);
    chosen.stages.ForEach([&](uint32_t stage) {
      chosen.rows.ForEach([&](uint32_t row) {
        for (int port = 0; port < network.ports(); ++port) {
          if (entry.has_port() && static_cast<int>(entry.port()) != port) continue;
          planned.SetLinkUp({static_cast<int>(stage), row, port}, false);
        }
      });
    });
  }
  for (const v1::FaultyNodes& entry : faults.nodes()) {
    const ChosenNodes chosen(entry, network);
    chosen.levels.ForEach([&](uint32_t level) {
      chosen.rows.ForEach([&](uint32_t row) {
        planned.SetNodeUp({static_cast<int>(level), row}, false);
      });
    });
  }
  AddRandomFaults({.links = faults.random().links(),
                   .nodes = faults.random().nodes(),
                   .ends = faults.random().ends(),
                   .seed = faults.random().seed()},
                  &planned);
  AddAdversarialFaults(AdversaryOf(faults), &planned);
  return planned;
}

}  // namespace bfly::control
