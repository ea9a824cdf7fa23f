// SPDX-License-Identifier: Apache-2.0
// Where the hops of a path stand in a tag.
#pragma once

#include <bit>
#include <cstdint>

namespace bfly {

using Tag = uint64_t;

inline constexpr int kMaxTagBits = 62;

// A tag has a field for each hop, and the first hop has the highest field. The highest bit of a
// field is the direction. If a direction has several ports, the bits below are the number of the
// port within the direction, as few bits as suffice.
struct TagLayout {
  int hops = 0;
  int field_bits = 1;
  int multiplicity = 1;
  int unused = 0;  // values of a field's lower bits that are not the number of a port

  static constexpr TagLayout Of(int hops, int multiplicity) {
    const int port_bits = std::bit_width(static_cast<unsigned>(multiplicity) - 1);
    return {hops, 1 + port_bits, multiplicity, (1 << port_bits) - multiplicity};
  }

  constexpr int bits() const { return hops * field_bits; }

  // The port by which `hop` leaves. HasOnlyPorts must be true for the tag.
  constexpr int port(Tag tag, int hop) const {
    return port_of(static_cast<int>(tag >> (field_bits * (hops - 1 - hop))) &
                   ((1 << field_bits) - 1));
  }
  constexpr int port_of(int field) const { return field - (field >> (field_bits - 1)) * unused; }
  constexpr int field_of(int port) const { return port + (port >= multiplicity ? unused : 0); }

  // Returns the tag of hops that go in the directions of `bits` and take the first port of each
  // direction. `bits` has one bit for each hop, the last hop's lowest.
  constexpr Tag Spread(uint64_t bits) const {
    if (field_bits == 1) return bits;
    Tag tag = 0;
    for (int at = field_bits - 1; bits != 0; bits >>= 1, at += field_bits) tag |= (bits & 1) << at;
    return tag;
  }
  // Returns the directions of a tag, one bit each. It is the inverse of Spread.
  constexpr uint64_t Directions(Tag tag) const {
    if (field_bits == 1) return tag;
    uint64_t bits = 0;
    tag >>= field_bits - 1;
    for (int at = 0; tag != 0; ++at, tag >>= field_bits) bits |= (tag & 1) << at;
    return bits;
  }

  // Whether each of the lowest `count` fields names a port.
  constexpr bool HasOnlyPorts(Tag tag, int count) const {
    if (unused == 0) return true;
    const int mask = (1 << (field_bits - 1)) - 1;
    for (; count > 0; --count, tag >>= field_bits) {
      if ((static_cast<int>(tag) & mask) >= multiplicity) return false;
    }
    return true;
  }
  // Whether the tag describes a path.
  constexpr bool IsPath(Tag tag) const { return tag >> bits() == 0 && HasOnlyPorts(tag, hops); }
};

}  // namespace bfly
