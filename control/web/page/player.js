// SPDX-License-Identifier: Apache-2.0
// Shows the packets of a program step by step: asks the server for a recording, and plays it.
import { get } from "./api.js";
import { drawPackets, packetsNear, radiusOf } from "./packets.js";
import { Recording } from "./recording.js";

const NEAR = 8;  // pixels
const element = (id) => document.getElementById(id);
const still = matchMedia("(prefers-reduced-motion: reduce)");

function fillSelect(select, names) {
  select.replaceChildren(...names.map((name) => new Option(name, name)));
}

function setText(id, text) {
  if (element(id).textContent !== `${text}`) element(id).textContent = text;
}

export class Player {
  // `network()` is what is known of the loaded network, `changed(is_open)` is called when a recording opens or closes.
  constructor({ view, contextOf, network, changed }) {
    Object.assign(this, { view, contextOf, network, changed });
    this.recording = null;
    this.time = 0;  // the end of a step, or between two of them while it plays
    this.picked = null;
    this.playing = null;  // the moment of the last frame
    this.frame_ms = 0;
    this.#listen();
  }

  get isOpen() {
    return this.recording !== null;
  }
  // The step that is shown, or that is under way. Without motion, packets stand at the end of a step until the next one ends.
  get step() {
    return still.matches ? Math.floor(this.time) : Math.ceil(this.time);
  }

  #listen() {
    element("program").addEventListener("change", () => this.#showFields());
    element("program-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#record();
    });
    element("close-program").addEventListener("click", () => this.close());
    element("step-first").addEventListener("click", () => this.show(0));
    element("step-back").addEventListener("click", () => this.go(-1));
    element("step-forward").addEventListener("click", () => this.go(1));
    element("play").addEventListener("click", () => this.toggle());
    element("step").addEventListener("input", (event) => this.show(Number(event.target.value)));
    element("packet").addEventListener("change", (event) => {
      const text = event.target.value;
      const packet = Number(text);
      this.pick(text !== "" && this.isOpen && Number.isInteger(packet) && packet >= 0 && packet < this.recording.packets ? packet : null);
    });
  }

  async readPrograms() {
    const { programs, permutations } = await get("/api/programs");
    fillSelect(element("program"), programs.map((program) => program.name));
    for (const [i, program] of programs.entries())
      element("program").options[i].title = `${program.about}. On: ${program.networks}`;
    fillSelect(element("permutation"), permutations);
    element("permutation").value = "random";
    this.#showFields();
  }

  #showFields() {
    const program = element("program").value;
    for (const field of document.querySelectorAll("#program-form .takes")) {
      field.hidden = !field.dataset.programs.split(" ").includes(program);
      // A form with a wrong number in a field that nobody sees is not sent, without a word.
      field.querySelector("input").disabled = field.hidden;
    }
  }

  async #record() {
    const query = { program: element("program").value, permutation: element("permutation").value, seed: element("seed").value };
    for (const name of ["h", "waves"]) if (!element(name).parentElement.hidden) query[name] = element(name).value;
    setText("program-told", "The controller runs it.");
    element("run").disabled = true;
    try {
      const answer = await get("/api/program", query);
      const network = this.network();
      if (network === null || network.fabric !== answer.fabric) throw new Error("Another fabric was loaded meanwhile. Press Show again.");
      this.open(new Recording(answer, network));
    } catch (error) {
      this.close();
      setText("program-told", error.message);
    } finally {
      element("run").disabled = false;
    }
  }

  open(recording) {
    this.recording = recording;
    this.picked = null;
    element("player").hidden = element("packets").hidden = element("close-program").hidden = false;
    element("step").max = recording.steps;
    element("packet").max = recording.packets - 1;
    element("left-out").hidden = recording.report.left_out === 0;
    const { program, packets, delivered, steps, congestion, max_latency, finished, trouble, left_out } = recording.report;
    setText("program-told", `${program}: ${delivered} of ${packets} packets arrive in ${steps} steps; at most ${congestion} cross one link, ` +
      `and the slowest takes ${max_latency} steps.` + (finished ? "" : ` It does not finish: ${trouble}.`) +
      (left_out > 0 ? ` ${left_out} are not sent, because what is down leaves them no way.` : ""));
    this.changed(true);
    this.pick(null);
    this.show(0);
  }

  close() {
    if (!this.isOpen) return;
    this.#pause();
    this.recording = null;
    this.picked = null;
    element("player").hidden = element("packets").hidden = element("close-program").hidden = true;
    setText("program-told", "");
    this.changed(false);
  }

  // Shows the end of a step, and stops there.
  show(step) {
    if (!this.isOpen) return;
    this.#pause();
    this.time = Math.max(0, Math.min(this.recording.steps, step));
    this.draw();
  }

  go(steps) {
    this.show(steps < 0 ? this.step + steps : Math.floor(this.time) + steps);
  }

  toggle() {
    if (!this.isOpen) return;
    if (this.playing !== null) {
      this.show(this.step);
      return;
    }
    if (this.time >= this.recording.steps) this.time = 0;
    element("play").textContent = "Pause";
    this.playing = performance.now();
    requestAnimationFrame((now) => this.#frame(now));
  }

  #pause() {
    this.playing = null;
    element("play").textContent = "Play";
  }

  #frame(now) {
    if (this.playing === null || !this.isOpen) return;
    // A page that was hidden goes on where it was.
    const seconds = Math.min(0.1, Math.max(0, (now - this.playing) / 1000));
    this.playing = now;
    this.time += seconds * Number(element("speed").value);
    if (this.time >= this.recording.steps) {
      this.show(this.recording.steps);
      return;
    }
    this.draw();
    requestAnimationFrame((next) => this.#frame(next));
  }

  draw() {
    if (!this.isOpen) return;
    const begin = performance.now();
    const time = still.matches ? this.step : this.time;
    drawPackets(this.contextOf(element("packets")), this.view, this.recording, time, this.picked);
    this.#tell();
    this.frame_ms = performance.now() - begin;
  }

  #tell() {
    const { recording, step } = this;
    if (this.told === step && this.told_of === recording && this.told_picked === this.picked) return;
    [this.told, this.told_of, this.told_picked] = [step, recording, this.picked];
    element("step").value = step;
    setText("step-told", `step ${step} of ${recording.steps}`);
    const counts = recording.counts(step);
    for (const [state, count] of Object.entries(counts)) setText(`count-${state.replace(" ", "-")}`, count);
    const blocked = step === recording.steps && !recording.report.finished ? counts.waiting + counts.moving : 0;
    setText("blocked-told", blocked > 0 ? `${blocked} blocked` : "");
    const phase = recording.phaseAt(step);
    setText("phase-told", phase === null ? "" : (recording.report.waves.length > 1 ? `wave ${phase.wave}, ` : "") +
      `phase ${phase.phase} of ${phase.of}: ${phase.senders} levels send, over links of colour ${phase.colour}`);
    this.#tellPacket();
  }

  #tellPacket() {
    if (this.picked === null) {
      setText("packet-told", "Press a packet, or type its number, to see its path.");
      return;
    }
    const { level, row, state } = this.recording.at(this.picked, this.step);
    setText("packet-told", `from row ${this.recording.inputs[this.picked]} to row ${this.recording.outputs[this.picked]}: ` +
      `${state}${state === "left out" ? "" : `, at level ${level}, row ${row}`}`);
  }

  pick(packet) {
    if (!this.isOpen) return;
    this.picked = packet;
    element("packet").value = packet ?? "";
    this.draw();
  }

  pickNext() {
    if (this.isOpen) this.pick(this.picked === null ? 0 : (this.picked + 1) % this.recording.packets);
  }

  // Picks a packet at a point of the canvas; of several at one node, the one after the one that is picked. Returns whether
  // one stands there.
  pickAt(x, y) {
    if (!this.isOpen) return false;
    const near = packetsNear(this.view, this.recording, this.step, x, y, Math.max(NEAR, radiusOf(this.view) + 2));
    if (near.length === 0) return false;
    this.pick(near[(near.indexOf(this.picked) + 1) % near.length]);
    return true;
  }

  // Where the packets are that the page shows, for scripts.
  positions() {
    return this.isOpen ? this.recording.positions(this.step) : [];
  }
}
