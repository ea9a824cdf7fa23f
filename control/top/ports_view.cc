// SPDX-License-Identifier: Apache-2.0
// The host ports and trunks: what came, what left, and what their devices missed.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/top/number_text.h"
#include "control/top/table.h"
#include "control/top/view.h"

namespace bfly::control {

ViewPage DrawPorts(const Sample& sample, const ViewState& state, const Canvas& canvas) {
  std::vector<const PortSample*> ports;
  for (const PortSample& port : sample.host_ports) ports.push_back(&port);
  const std::string sort = Views()[3].sorts.at(state.sort);
  const auto key = [&sort](const PortSample& port) {
    if (sort == "received") return port.rx_per_second;
    if (sort == "sent") return port.tx_per_second;
    if (sort == "missed") return static_cast<double>(port.missed);
    return 0.0;
  };
  std::stable_sort(ports.begin(), ports.end(), [&key](const PortSample* a, const PortSample* b) {
    return key(*a) != key(*b) ? key(*a) > key(*b) : a->name < b->name;
  });
  const Table table({{"port", 9, true},
                     {"plane", 6, true},
                     {"driver", 11, true},
                     {"qp", 2},
                     {"rx/s", 6},
                     {"rx b/s", 6},
                     {"tx/s", 6},
                     {"tx b/s", 6},
                     {"missed", 6},
                     {"drops", 6}},
                    canvas);
  ViewPage page;
  page.head.push_back(table.Heading());
  for (const PortSample* const port : ports) {
    Line line = table.Row(
        {port->name, port->data_plane, port->driver.empty() ? "(gone)" : port->driver,
         absl::StrCat(port->queue_pairs), Count(port->rx_per_second), Count(port->rx_bits),
         Count(port->tx_per_second), Count(port->tx_bits), Count(static_cast<double>(port->missed)),
         Count(static_cast<double>(port->dropped))});
    if (port->missed_per_second > 0) line.front().ink = Ink::kBad;
    page.rows.push_back({.line = std::move(line), .stage = {}});
  }
  if (ports.empty()) page.foot.push_back(PlainLine("the fabric has no host ports and no trunks"));
  return page;
}

}  // namespace bfly::control
