// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/object_directory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

absl::Status CheckOnce(const std::vector<Placement>& placements) {
  std::vector<uint64_t> objects;
  objects.reserve(placements.size());
  for (const Placement& placement : placements) objects.push_back(placement.object);
  std::sort(objects.begin(), objects.end());
  const auto twice = std::adjacent_find(objects.begin(), objects.end());
  if (twice == objects.end()) return absl::OkStatus();
  const auto is_it = [twice](const Placement& placement) { return placement.object == *twice; };
  const auto first = std::find_if(placements.begin(), placements.end(), is_it);
  const auto again = std::find_if(first + 1, placements.end(), is_it);
  return absl::InvalidArgumentError(
      absl::StrCat("objects[", again - placements.begin(), "].object: ", *twice,
                   " is there twice, first at [", first - placements.begin(), "]"));
}

}  // namespace

absl::Status ObjectDirectory::PlaceOne(const Placement& placement, uint32_t room) {
  const Row rows = static_cast<Row>(load_.size());
  const auto& [object, disks] = placement;
  if (disks.empty() || disks.size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("disks: ", disks.size(), " given; an object is on 1 disk or 2"));
  }
  const Row half = disks.size() == 2 ? rows / 2 : rows;
  for (size_t copy = 0; copy < disks.size(); ++copy) {
    const Row first = copy == 0 ? 0 : half;
    if (disks[copy] < first || disks[copy] >= first + half) {
      return absl::InvalidArgumentError(absl::StrCat(
          "disks[", copy, "]: ", disks[copy], " is outside ", first, "..", first + half - 1));
    }
    if (room != 0 && load_[disks[copy]] >= room) {
      return absl::ResourceExhaustedError(absl::StrCat("disks[", copy, "]: disk ", disks[copy],
                                                       " has no room, it holds ",
                                                       load_[disks[copy]], " of ", room));
    }
  }
  const auto [there, is_new] =
      where_.try_emplace(object, Disks{.disks = {}, .copies = static_cast<int>(disks.size())});
  if (!is_new) {
    return absl::AlreadyExistsError(absl::StrCat("object: ", object, " is placed already"));
  }
  std::copy(disks.begin(), disks.end(), there->second.disks.begin());
  for (const Row disk : disks) ++load_[disk];
  return absl::OkStatus();
}

absl::Status ObjectDirectory::Place(const std::vector<Placement>& placements, uint32_t room) {
  if (absl::Status status = CheckOnce(placements); !status.ok()) return status;
  for (size_t i = 0; i < placements.size(); ++i) {
    const absl::Status status = PlaceOne(placements[i], room);
    if (status.ok()) continue;
    for (size_t done = 0; done < i; ++done) RemoveOne(placements[done]);
    return absl::Status(status.code(), absl::StrCat("objects[", i, "].", status.message()));
  }
  return absl::OkStatus();
}

void ObjectDirectory::Remove(const std::vector<Placement>& placements) {
  for (const Placement& placement : placements) RemoveOne(placement);
}

void ObjectDirectory::RemoveOne(const Placement& placement) {
  where_.erase(placement.object);
  for (const Row disk : placement.disks) --load_[disk];
}

const ObjectDirectory::Disks* ObjectDirectory::Find(uint64_t object) const {
  const auto found = where_.find(object);
  return found == where_.end() ? nullptr : &found->second;
}

uint32_t ObjectDirectory::most_on_disk() const {
  return *std::max_element(load_.begin(), load_.end());
}

std::vector<Placement> RandomPlacements(Row rows, uint64_t first, uint32_t count, int copies,
                                        uint64_t seed) {
  std::vector<Placement> placements(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t object = first + i;
    placements[i].object = object;
    if (copies == 1) {
      placements[i].disks = {RandomBelow(seed, RandomStream::kDestinations, object, rows)};
    } else {
      const auto disk = [&](uint64_t copy) {
        return RandomBelow(seed, RandomStream::kPlacement, 2 * object + copy, rows / 2);
      };
      placements[i].disks = {disk(0), rows / 2 + disk(1)};
    }
  }
  return placements;
}

}  // namespace bfly::control
