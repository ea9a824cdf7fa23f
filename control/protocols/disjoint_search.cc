// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/disjoint_search.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace bfly::control {
namespace {

class DisjointSearch {
 public:
  DisjointSearch(OpenLinks open, const std::vector<Request>& requests, uint64_t most_looks)
      : open_(std::move(open)),
        requests_(requests),
        most_looks_(most_looks),
        paths_(requests.size()) {}

  std::optional<LinkPaths> HardestFirst() {
    if (!RouteOneByOne()) return std::nullopt;
    return paths_;
  }
  SearchResult AllWays() {
    if (TryRest(requests_.size())) return {SearchResult::End::kFound, paths_};
    return {looks_ > most_looks_ ? SearchResult::End::kStopped : SearchResult::End::kExhausted, {}};
  }

 private:
  static constexpr int kStarts = 50;

  bool RouteOneByOne() {
    std::vector<size_t> order(requests_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (int start = 0; start < kStarts && looks_ <= most_looks_; ++start) {
      size_t placed = 0;
      for (; placed < order.size(); ++placed) {
        const Request& request = requests_[order[placed]];
        auto path = open_.FindPath(request.input, request.output, looks_);
        if (!path.has_value()) break;
        for (const uint64_t link : *path) open_.Close(link);
        paths_[order[placed]] = *std::move(path);
      }
      if (placed == order.size()) return true;
      for (size_t i = 0; i < placed; ++i) Reopen(paths_[order[i]]);
      std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(placed),
                  order.begin() + static_cast<std::ptrdiff_t>(placed) + 1);
    }
    return false;
  }
  void Reopen(const std::vector<uint64_t>& path) {
    for (const uint64_t link : path) open_.Open(link);
  }

  // Gives the requests without a path, `rest` of them, paths in every way there is.
  bool TryRest(size_t rest) {
    if (rest == 0) return true;
    size_t hardest = requests_.size();
    uint64_t fewest = kManyPaths;
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (!paths_[i].empty() || fewest == 0 || looks_ > most_looks_) continue;
      const uint64_t ways =
          open_.CountPaths(requests_[i].input, requests_[i].output, kManyPaths, looks_);
      if (hardest != requests_.size() && ways >= fewest) continue;
      hardest = i;
      fewest = ways;
    }
    if (fewest == 0 || looks_ > most_looks_) return false;
    return TryPaths(hardest, 0, requests_[hardest].input, rest);
  }
  // Tries all paths of a request that begin with the ones already in paths_[request].
  bool TryPaths(size_t request, int hop, Row row, size_t rest) {
    const Network& network = open_.network();
    if (hop == network.stages()) return TryRest(rest - 1);
    const uint64_t first =
        open_.first_link(hop, row, open_.direction(requests_[request].output, hop));
    std::vector<Row> tried;  // parallel links are as good as each other
    for (uint64_t link = first; link < first + network.multiplicity(); ++link) {
      if (++looks_ > most_looks_) return false;
      if (!open_.is_open(link)) continue;
      const Row next = open_.head(link);
      if (std::find(tried.begin(), tried.end(), next) != tried.end()) continue;
      tried.push_back(next);
      open_.Close(link);
      paths_[request].push_back(link);
      if (TryPaths(request, hop + 1, next, rest)) return true;
      paths_[request].pop_back();
      open_.Open(link);
    }
    return false;
  }

  static constexpr uint64_t kManyPaths = 1 << 20;

  OpenLinks open_;
  const std::vector<Request>& requests_;
  const uint64_t most_looks_;
  uint64_t looks_ = 0;
  LinkPaths paths_;
};

}  // namespace

std::optional<LinkPaths> RouteHardestFirst(OpenLinks open, const std::vector<Request>& requests,
                                           uint64_t most_looks) {
  return DisjointSearch(std::move(open), requests, most_looks).HardestFirst();
}

SearchResult TryAllWays(OpenLinks open, const std::vector<Request>& requests, uint64_t most_looks) {
  return DisjointSearch(std::move(open), requests, most_looks).AllWays();
}

}  // namespace bfly::control
