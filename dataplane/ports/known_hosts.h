// SPDX-License-Identifier: Apache-2.0
// Keeps the addresses of the hosts behind ports in a file across a crash of the data plane.
// Otherwise a host that only listens would be unknown until it sends.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/ports/learned_mac.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// Only one thread at a time may use it.
class KnownHosts {
 public:
  // Reads the file. An empty `path` keeps nothing.
  explicit KnownHosts(std::string path);

  // Gives `learned` the address that the file has for the host at a port of one row, and watches
  // which addresses workers learn from now on. `learned` must outlive the calls of Save.
  void Watch(const std::string& port, Row row, LearnedMac* learned);

  // Stops watching `learned`. The next Save removes its address from the file.
  void Unwatch(const LearnedMac* learned);

  // Writes the file if an address was learned since the last call.
  void Save();
  // Removes the file. Call it when the fabric is unloaded in order: the next fabric learns
  // addresses anew.
  void Forget();

 private:
  using Place = std::pair<std::string, Row>;
  struct Watched {
    Place place;
    const LearnedMac* learned;
  };

  const std::string path_;
  std::map<Place, MacAddress> saved_;
  std::vector<Watched> watched_;
};

}  // namespace bfly::dataplane
