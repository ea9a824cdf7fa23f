// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/data_server.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/protocols/collision_rounds.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

constexpr uint32_t kLeastDiskThreshold = 5;  // 2^c / c! <= 1/2

absl::Status NeedsRandomlyWired(const Network& network) {
  if (network.kind() == NetworkKind::kRandomlyWiredButterfly) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "kind: the data server needs randomly_wired_butterfly, not ", KindName(network.kind())));
}

absl::Status CheckCopies(const Network& network, Row user, Copies copies) {
  const Row rows = network.rows();
  if (user >= rows) {
    return absl::InvalidArgumentError(absl::StrCat("user: ", user, " is outside 0..", rows - 1));
  }
  if (copies[0] >= rows / 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "first copy: disk ", copies[0], " is outside the first half, 0..", rows / 2 - 1));
  }
  if (copies[1] < rows / 2 || copies[1] >= rows) {
    return absl::InvalidArgumentError(absl::StrCat("second copy: disk ", copies[1],
                                                   " is outside the second half, ", rows / 2, "..",
                                                   rows - 1));
  }
  return absl::OkStatus();
}

// The threshold of the theorem: the smallest c with c! >= 2 log n.
uint32_t LinkThreshold(int dimension) {
  uint32_t c = 1;
  for (int64_t factorial = 1; factorial < 2 * dimension; factorial *= c) ++c;
  return c;
}

uint32_t DiskContention(const Network& network, const std::vector<CircuitPath>& paths,
                        const StandingReads& standing) {
  std::vector<uint32_t> readers(network.rows());
  if (standing.disks != nullptr) readers = *standing.disks;
  for (const CircuitPath& path : paths) ++readers[path.output];
  return *std::max_element(readers.begin(), readers.end());
}

absl::Status CheckUsers(const Network& network, const std::vector<DataServerRequest>& requests) {
  if (absl::Status s = NeedsRandomlyWired(network); !s.ok()) return s;
  std::vector<bool> asked(network.rows());
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto& [user, copies] = requests[i];
    if (absl::Status s = CheckCopies(network, user, copies); !s.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("requests[", i, "].", s.message()));
    }
    if (asked[user]) {
      return absl::InvalidArgumentError(
          absl::StrCat("requests[", i, "].user: ", user, " asks twice"));
    }
    asked[user] = true;
  }
  return absl::OkStatus();
}

}  // namespace

DataServerOptions WithThresholds(DataServerOptions options, int dimension) {
  if (options.c_disk == 0) options.c_disk = kLeastDiskThreshold;
  if (options.c == 0) options.c = std::max(options.c_disk, LinkThreshold(dimension));
  return options;
}

std::vector<Copies> PlaceInTwoCopies(uint32_t rows, uint32_t objects, uint64_t seed) {
  std::vector<Copies> placed(objects);
  for (uint64_t object = 0; object < objects; ++object) {
    const auto disk = [&](uint64_t copy) {
      return RandomBelow(seed, RandomStream::kPlacement, 2 * object + copy, rows / 2);
    };
    placed[object] = {disk(0), rows / 2 + disk(1)};
  }
  return placed;
}

std::vector<Row> PlaceInOneCopy(uint32_t rows, uint32_t objects, uint64_t seed) {
  std::vector<Row> placed(objects);
  for (uint32_t object = 0; object < objects; ++object) {
    placed[object] = RandomBelow(seed, RandomStream::kDestinations, object, rows);
  }
  return placed;
}

absl::StatusOr<DataServerResult> RouteDataServerCollision(
    const Network& network, const std::vector<DataServerRequest>& requests,
    const DataServerOptions& options, const StandingReads& standing) {
  if (absl::Status s = CheckUsers(network, requests); !s.ok()) return s;
  for (const auto& [field, value] : {std::pair{"c", options.c}, {"c_disk", options.c_disk}}) {
    if (value > kMaxThreshold) {
      return absl::InvalidArgumentError(absl::StrCat(field, ": ", value, " is outside 1..",
                                                     kMaxThreshold, " (0: the theorem's)"));
    }
  }
  if (absl::Status s = CheckWorkers(options.workers); !s.ok()) return s;
  const int d = network.dimension();
  const DataServerOptions in_force = WithThresholds(options, d);
  const uint32_t c_disk = in_force.c_disk;
  const uint32_t c = in_force.c;
  std::vector<CollisionColumn> columns(d, {.links = 2 * network.rows(), .limit = c});
  std::vector<std::vector<uint32_t>> counts;
  if (standing.links != nullptr) {
    for (int stage = 0; stage < d; ++stage) {
      counts.push_back(standing.links->stage_counts(stage));
      columns[stage].standing = counts.back().data();
    }
  }
  columns.push_back({.links = network.rows(),  // the disks
                     .limit = c_disk,
                     .standing = standing.disks == nullptr ? nullptr : standing.disks->data()});

  // Behind the randomly wired stage a path is a butterfly's path: at level l its row has the first
  // l positions of the disk and the other positions of its row at level 1.
  std::vector<Row> second_row(2 * requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    for (int copy : {0, 1}) second_row[2 * i + copy] = network.next_row(0, requests[i].user, copy);
  }
  const DataServerRequest* const wanted = requests.data();
  const Row* const second = second_row.data();
  const auto links_of = [=](size_t column) {
    const int stage = static_cast<int>(column);
    const int port_shift = std::max(d - 1 - stage, 0);
    const Row still = (Row{2} << port_shift) - 1;
    return [=](uint32_t i, int copy) -> uint32_t {
      const Row disk = wanted[i].copies[copy];
      if (stage == d) return disk;
      // The copies are in different halves, so the first link's port is the copy's number.
      if (stage == 0) return 2 * wanted[i].user + copy;
      return 2 * ((disk & ~still) | (second[2 * size_t{i} + copy] & still)) +
             ((disk >> port_shift) & 1);
    };
  };
  Crew crew(static_cast<int>(std::max(options.workers, 1u)));
  const std::vector<uint8_t> broken = BrokenPaths(
      TwoPaths(), standing.faults, requests.size(), [&](size_t i) { return requests[i].user; },
      [&](size_t i, int copy) {
        return GreedyTag(network, requests[i].user, requests[i].copies[copy]);
      });
  const CollisionOutcome outcome =
      RunCollisionRounds(TwoPaths(), static_cast<uint32_t>(requests.size()), columns,
                         options.max_rounds != 0 ? options.max_rounds : ~0u,
                         broken.empty() ? nullptr : broken.data(), crew, links_of);

  DataServerResult result;
  result.route.rounds = static_cast<uint32_t>(outcome.left_per_round.size());
  result.route.messages = outcome.messages;
  result.route.left_per_round = outcome.left_per_round;
  result.route.requests_left = outcome.left;
  result.route.rounds_asked = outcome.rounds_asked;
  result.route.c = c;
  result.c_disk = c_disk;
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto& [user, copies] = requests[i];
    const bool left = outcome.choice[i] == CollisionOutcome::kLeft;
    const Row disk = copies[left ? PathOfLeft(TwoPaths(), broken, i) : outcome.choice[i]];
    result.route.buddies.push_back({Tag{copies[0]}, Tag{copies[1]}});
    result.route.paths.push_back({user, disk, GreedyTag(network, user, disk),
                                  left                     ? PathChoice::kArbitrary
                                  : outcome.choice[i] == 0 ? PathChoice::kP
                                                           : PathChoice::kPPrime});
  }
  MeasureCongestion(network, standing.links, crew, result.route);
  result.disk_contention = DiskContention(network, result.route.paths, standing);
  return result;
}

absl::StatusOr<DataServerResult> RouteDataServerMinimum(
    const Network& network, const std::vector<DataServerRequest>& requests,
    const StandingReads& standing) {
  if (absl::Status s = CheckUsers(network, requests); !s.ok()) return s;
  LinkLoad load = standing.links == nullptr ? LinkLoad(network) : *standing.links;
  std::vector<uint32_t> readers(network.rows());
  if (standing.disks != nullptr) readers = *standing.disks;
  DataServerResult result;
  for (const auto& [user, copies] : requests) {
    const CircuitPath path = ChooseCopy(load, readers, user, copies, standing.faults);
    load.Add(user, path.tag);
    ++readers[path.output];
    result.route.paths.push_back(path);
    result.route.buddies.push_back({Tag{copies[0]}, Tag{copies[1]}});
  }
  result.route.rounds = static_cast<uint32_t>(requests.size());
  result.route.messages = 4 * uint64_t{requests.size()};
  result.route.passes_alone = 2;
  MeasureCongestion(network, standing.links, result.route);
  result.disk_contention = DiskContention(network, result.route.paths, standing);
  return result;
}

absl::StatusOr<DataServerResult> RouteDataServerSingleCopy(const Network& network,
                                                           const std::vector<Row>& users,
                                                           const std::vector<Row>& disks,
                                                           const StandingReads& standing) {
  if (absl::Status s = NeedsRandomlyWired(network); !s.ok()) return s;
  if (users.size() != disks.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("disks: ", disks.size(), " given for ", users.size(), " users"));
  }
  DataServerResult result;
  std::vector<bool> asked(network.rows());
  for (size_t i = 0; i < users.size(); ++i) {
    for (const auto& [field, row] : {std::pair{"users", users[i]}, {"disks", disks[i]}}) {
      if (row >= network.rows()) {
        return absl::InvalidArgumentError(
            absl::StrCat(field, "[", i, "]: ", row, " is outside 0..", network.rows() - 1));
      }
    }
    if (asked[users[i]]) {
      return absl::InvalidArgumentError(
          absl::StrCat("users[", i, "]: user ", users[i], " asks twice"));
    }
    asked[users[i]] = true;
    result.route.paths.push_back(
        {users[i], disks[i], GreedyTag(network, users[i], disks[i]), PathChoice::kGreedy});
  }
  result.route.rounds = 1;
  result.route.left_per_round = {0};
  result.route.messages = users.size();
  MeasureCongestion(network, standing.links, result.route);
  result.disk_contention = DiskContention(network, result.route.paths, standing);
  return result;
}

DataServer::DataServer(const Network& network)
    : load_(network), disk_load_(network.rows()), by_user_(network.rows()), busy_(network.rows()) {}

absl::StatusOr<DataServer> DataServer::Make(const Network& network) {
  if (absl::Status s = NeedsRandomlyWired(network); !s.ok()) return s;
  return DataServer(network);
}

uint32_t CostOfCopy(const LinkLoad& load, const std::vector<uint32_t>& readers, Row user,
                    Row disk) {
  return std::max(load.MaxOnPath(user, GreedyTag(load.network(), user, disk)), readers[disk]);
}

CircuitPath ChooseCopy(const LinkLoad& load, const std::vector<uint32_t>& readers, Row user,
                       Copies copies, const FaultSet* faults) {
  bool second =
      CostOfCopy(load, readers, user, copies[1]) < CostOfCopy(load, readers, user, copies[0]);
  if (faults != nullptr && !faults->empty()) {
    const auto is_whole = [&](Row disk) {
      return faults->IsWhole(user, GreedyTag(load.network(), user, disk));
    };
    if (!is_whole(copies[second]) && is_whole(copies[!second])) second = !second;
  }
  const Row disk = copies[second];
  return {user, disk, GreedyTag(load.network(), user, disk),
          second ? PathChoice::kPPrime : PathChoice::kP};
}

absl::StatusOr<CircuitPath> DataServer::SetUp(Row user, Copies copies) {
  if (absl::Status s = CheckCopies(load_.network(), user, copies); !s.ok()) return s;
  if (busy_[user]) {
    return absl::FailedPreconditionError(
        absl::StrCat("user: ", user, " is busy with disk ", by_user_[user].output));
  }
  const CircuitPath path = ChooseCopy(load_, disk_load_, user, copies);
  by_user_[user] = path;
  busy_[user] = true;
  ++disk_load_[path.output];
  load_.Add(user, path.tag);
  return path;
}

absl::StatusOr<CircuitPath> DataServer::Release(Row user) {
  const CircuitPath* held = AtUser(user);
  if (held == nullptr) {
    return absl::NotFoundError(absl::StrCat("user: ", user, " reads nothing"));
  }
  busy_[user] = false;
  --disk_load_[held->output];
  load_.Remove(user, held->tag);
  return *held;
}

const CircuitPath* DataServer::AtUser(Row user) const {
  return user < busy_.size() && busy_[user] ? &by_user_[user] : nullptr;
}

}  // namespace bfly::control
