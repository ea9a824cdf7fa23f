// SPDX-License-Identifier: Apache-2.0
#include "control/rates/counter_rates.h"

#include <algorithm>
#include <tuple>

namespace bfly::control {
namespace {

double PerSecond(uint64_t now, uint64_t before, double seconds) {
  const uint64_t grown = now >= before ? now - before : now;
  return seconds > 0 ? static_cast<double>(grown) / seconds : 0;
}

using LinkPlace = std::tuple<uint32_t, uint32_t, uint32_t>;
LinkPlace PlaceOf(const Counts::Link& link) { return {link.stage, link.row, link.port}; }

// A link without figures may have circuits, and is in the picture with them.
bool MayLackFigures(const v1::LinkCounters& link, const v1::Counters& picture) {
  return picture.links_missing() && link.packets() == 0;
}

}  // namespace

uint64_t PacketsIn(const google::protobuf::RepeatedPtrField<v1::DropCount>& drops) {
  uint64_t sum = 0;
  for (const v1::DropCount& drop : drops) sum += drop.packets();
  return sum;
}

double SecondsBetween(int64_t before_ns, int64_t now_ns) {
  if (before_ns <= 0 || now_ns <= before_ns) return 0;
  return static_cast<double>(now_ns - before_ns) / 1e9;
}

Counts CountsOf(const v1::Counters& picture, bool every_link) {
  Counts counts;
  counts.monotonic_ns = picture.monotonic_ns();
  counts.every_link = every_link && !picture.links_missing();
  counts.injected = picture.conservation().injected();
  counts.delivered = picture.conservation().delivered();
  counts.dropped = picture.conservation().dropped();
  counts.links.reserve(static_cast<size_t>(picture.links_size()));
  for (const v1::LinkCounters& link : picture.links()) {
    if (MayLackFigures(link, picture)) continue;
    counts.links.push_back({link.stage(), link.row(), link.port(), link.packets(), link.bytes(),
                            PacketsIn(link.drops()), link.busy_ns()});
  }
  const auto comes_first = [](const Counts::Link& a, const Counts::Link& b) {
    return PlaceOf(a) < PlaceOf(b);
  };
  if (!std::is_sorted(counts.links.begin(), counts.links.end(), comes_first))
    std::sort(counts.links.begin(), counts.links.end(), comes_first);
  for (const v1::PortCounters& port : picture.ports()) {
    counts.ports[{port.data_plane(), port.name()}] = {
        port.rx_packets(), port.rx_bytes(), port.rx_missed(), port.tx_packets(), port.tx_bytes()};
  }
  return counts;
}

CounterRates::CounterRates(const v1::Counters& now, const Counts* before)
    : now_(now),
      before_(before),
      seconds_(before == nullptr ? 0 : SecondsBetween(before->monotonic_ns, now.monotonic_ns())) {}

AccountRate CounterRates::account() const {
  if (before_ == nullptr) return {};
  const v1::Conservation& account = now_.conservation();
  const bool began_anew =
      account.injected() < before_->injected || account.delivered() < before_->delivered;
  // Packets that counted as lost with a data plane may arrive after all, and count no more.
  const uint64_t dropped =
      began_anew ? account.dropped() : std::max(account.dropped(), before_->dropped);
  return {PerSecond(account.injected(), before_->injected, seconds_),
          PerSecond(account.delivered(), before_->delivered, seconds_),
          PerSecond(dropped, before_->dropped, seconds_)};
}

LinkRate CounterRates::Of(const v1::LinkCounters& link) {
  if (seconds_ == 0 || MayLackFigures(link, now_)) return {};
  const std::vector<Counts::Link>& links = before_->links;
  const LinkPlace place{link.stage(), link.row(), link.port()};
  if (next_ == links.size() || PlaceOf(links[next_]) != place) {
    const auto found = std::lower_bound(
        links.begin(), links.end(), place,
        [](const Counts::Link& one, const LinkPlace& wanted) { return PlaceOf(one) < wanted; });
    next_ = static_cast<size_t>(found - links.begin());
  }
  const bool found = next_ < links.size() && PlaceOf(links[next_]) == place;
  if (!found && !before_->every_link) return {};
  Counts::Link old = found ? links[next_++] : Counts::Link();
  if (link.packets() < old.packets) old = {};  // its data plane began anew
  // The time of sending is read while the link is given frames, and may fall by that of one frame.
  const uint64_t busy_ns = std::max(link.busy_ns(), old.busy_ns);
  return {.is_known = true,
          .packets = PerSecond(link.packets(), old.packets, seconds_),
          .bytes = PerSecond(link.bytes(), old.bytes, seconds_),
          .drops = PerSecond(PacketsIn(link.drops()), old.drops, seconds_),
          .busy = 1e-9 * PerSecond(busy_ns, old.busy_ns, seconds_)};
}

PortRate CounterRates::Of(const v1::PortCounters& port) const {
  if (seconds_ == 0) return {};
  const auto found = before_->ports.find({port.data_plane(), port.name()});
  if (found == before_->ports.end()) return {};
  const Counts::Port& old = found->second;
  return {PerSecond(port.rx_packets(), old.rx_packets, seconds_),
          PerSecond(port.rx_bytes(), old.rx_bytes, seconds_),
          PerSecond(port.rx_missed(), old.rx_missed, seconds_),
          PerSecond(port.tx_packets(), old.tx_packets, seconds_),
          PerSecond(port.tx_bytes(), old.tx_bytes, seconds_)};
}

}  // namespace bfly::control
