// SPDX-License-Identifier: Apache-2.0
// Where the packets of a program were, step by step. Plain functions of what the server recorded.

const NOT_SENT = 2 ** 32 - 1;

// What a packet does at the end of a step.
export const STATES = ["moving", "waiting", "delivered", "to come", "left out"];

export class Recording {
  // `ports` are the links that leave a node, `levels` those that a packet crosses.
  constructor(answer, { ports, stages }) {
    this.report = answer.report;
    this.inputs = answer.inputs;
    this.outputs = answer.outputs;
    this.begins = answer.begins;
    this.crossed = answer.links;
    this.crossings = answer.steps;
    this.ports = answer.ports;
    this.rows = answer.rows;
    this.packets = answer.inputs.length;
    this.steps = answer.report.steps;
    this.stages = stages;
    this.phase = ports;
    // Where the crossings of a packet begin in the lists.
    this.first = new Uint32Array(this.packets + 1);
    for (let packet = 0; packet < this.packets; ++packet) this.first[packet + 1] = this.first[packet] + this.crossed[packet];
  }

  // The links that a packet has crossed by the end of a step, which is the level where it stands.
  levelAt(packet, step) {
    let low = this.first[packet], high = this.first[packet + 1];
    const begin = low;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.crossings[middle] <= step) low = middle + 1;
      else high = middle;
    }
    return low - begin;
  }

  rowAt(packet, level) {
    return level === 0 ? this.inputs[packet] : this.rows[this.first[packet] + level - 1];
  }

  // The link that the packet crossed from a level to the next.
  linkFrom(packet, level) {
    return {
      stage: level,
      row: this.rowAt(packet, level),
      port: this.ports[this.first[packet] + level],
      next_row: this.rows[this.first[packet] + level],
    };
  }

  // The links of its whole path, as far as it came.
  path(packet) {
    return Array.from({ length: this.crossed[packet] }, (_, level) => this.linkFrom(packet, level));
  }

  stateAt(packet, step, level) {
    const begin = this.begins[packet];
    if (begin === NOT_SENT) return "left out";
    if (level === this.stages) return "delivered";
    if (begin > step) return "to come";
    return level > 0 && this.crossings[this.first[packet] + level - 1] === step ? "moving" : "waiting";
  }

  // Where a packet stands at the end of a step.
  at(packet, step) {
    const level = this.levelAt(packet, step);
    return { packet, level, row: this.rowAt(packet, level), state: this.stateAt(packet, step, level) };
  }

  positions(step) {
    return Array.from({ length: this.packets }, (_, packet) => this.at(packet, step));
  }

  // How many packets are in each state.
  counts(step) {
    const counts = Object.fromEntries(STATES.map((state) => [state, 0]));
    for (let packet = 0; packet < this.packets; ++packet) ++counts[this.stateAt(packet, step, this.levelAt(packet, step))];
    return counts;
  }

  // The wave of a step, and its phase: even and odd levels take turns, and in each step of a phase links of one colour
  // carry packets. Null where the program has no waves, and before the first step.
  phaseAt(step) {
    if (this.report.program !== "waves" || step === 0) return null;
    let before = 0;
    for (const wave of this.report.waves) {
      if (step <= before + wave.steps) {
        const inside = step - before - 1, phase = Math.floor(inside / this.phase);
        return { wave: wave.wave, phase: phase + 1, of: wave.phases, senders: phase % 2 === 0 ? "even" : "odd", colour: inside % this.phase };
      }
      before += wave.steps;
    }
    return null;
  }
}
