// SPDX-License-Identifier: Apache-2.0
// The addresses of the hosts behind ports, kept in a file over a crash of the data plane: a host
// that only listens would stay in the dark until it speaks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/ports/learned_mac.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// One thread at a time.
class KnownHosts {
 public:
  // Reads what the file has. `path` empty: nothing is kept.
  explicit KnownHosts(std::string path);

  // Gives `learned` the address that the file has for the host at the port of one row, and keeps
  // what workers learn from now on. `learned` outlives the calls of Save.
  void Watch(const std::string& port, Row row, LearnedMac* learned);

  // Writes the file if something was learned since the last time.
  void Save();
  // The fabric is unloaded in order, and whatever comes next learns anew.
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
