// SPDX-License-Identifier: Apache-2.0
// The page: asks once a second, draws, and sends changes.
import { get, objectsOf, post, setToken } from "./api.js";
import { colours, short, startTheme } from "./colours.js";
import { drawFabric, drawScale } from "./draw.js";
import { drawHistory } from "./history.js";
import { startInput } from "./input.js";
import { Player } from "./player.js";
import { fillCircuits, fillHottest, fillPorts, linkName } from "./tables.js";
import { View } from "./view.js";

const INTERVAL = 1000;
const HOTTEST = 10;
const TELLS = { rate: "rate", bytes: "bytes", occupancy: "occupancy", circuits: "circuits", drops: "drops" };

const element = (id) => document.getElementById(id);
const canvas = element("fabric");
const view = new View();
const scene = { figure: "rate", links: null, bands: [], band_count: 1, selection: null, circuit: null, is_quiet: false };
const state = {
  fabric: null, topology: null, moments: [], circuits: [], query: { find: "" }, sought: null, find_error: "", pages: 1,
  frame_ms: 0, readings: 0, wants_links: false, reads_links: false,
};
const player = new Player({
  view, contextOf,
  network: () => state.topology,
  changed: (is_open) => {
    scene.is_quiet = is_open;
    draw();
  },
});
let drawing = false;

// Gives a canvas as many pixels as the screen has for it. Returns its context.
function contextOf(target) {
  const scale = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(target.clientWidth * scale));
  const height = Math.max(1, Math.round(target.clientHeight * scale));
  if (target.width !== width || target.height !== height) Object.assign(target, { width, height });
  const context = target.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

function drawNow() {
  const begin = performance.now();
  view.width = canvas.clientWidth;
  view.height = canvas.clientHeight;
  const most = drawFabric(contextOf(canvas), view, scene);
  element("scale-max").textContent = short(most);
  element("rows-shown").textContent = `rows ${view.firstRow} to ${view.lastRow} of ${view.rows}` +
    (view.isClose && scene.links !== null ? "" : `, in ${scene.band_count} bands`);
  canvas.dataset.mode = view.isClose && scene.links !== null ? "links" : "bands";
  player.draw();
  state.frame_ms = performance.now() - begin;
}

function draw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    drawNow();
  });
}

function drawAll() {
  drawScale(element("scale"));
  draw();
  drawStrip();
}

function drawStrip() {
  const strip = element("history");
  drawHistory(contextOf(strip), strip.clientWidth, strip.clientHeight, state.moments);
}

function tell(problems) {
  const told = element("problem");
  const text = problems.join("\n");
  if (told.textContent !== text) told.textContent = text;
  told.hidden = problems.length === 0;
}

// The newest figures of a selected link or band.
function counted() {
  const wanted = scene.selection;
  if (wanted.kind === "link") return linkInView(wanted) ?? wanted;
  return scene.bands.find((item) => item.stage === wanted.stage && item.from === wanted.from && item.to === wanted.to) ?? wanted;
}

function findLink(links, { stage, row, port }) {
  return links.find((link) => link.stage === stage && link.row === row && link.port === port);
}

// Links are read only while they are drawn one by one.
function linkInView(wanted) {
  return view.isClose && scene.links !== null ? findLink(scene.links, wanted) : undefined;
}

function selectionText() {
  const selected = scene.selection;
  if (selected === null) return "Nothing is selected.";
  if (selected.kind === "node") return `Node of level ${selected.level}, row ${selected.row}`;
  const link = counted();
  const rate = link.packet_rate === null ? "rate not known" : `${short(link.packet_rate)}/s`;
  const load = `${link.packets} packets, ${rate}, ${link.occupancy} waiting, ${link.circuits} circuits, ${link.drops} drops`;
  if (selected.kind === "band")
    return `${link.links} links of stage ${link.stage}, ${link.down} of them down: ${load}. Zoom in to select one`;
  return `Link ${linkName(link)} to row ${link.next_row}${link.down ? ", down" : ""}: ${load}`;
}

function showSelection() {
  const text = selectionText();
  if (element("selection").textContent !== text) element("selection").textContent = text;
  const can = scene.selection !== null && scene.selection.kind !== "band";
  element("fail").disabled = !can;
  element("restore").disabled = !can;
  draw();
}

function select(selection) {
  scene.selection = selection;
  element("change").textContent = "";
  showSelection();
}

function pickLink(link) {
  view.show(link.row);
  select({ kind: "link", ...link });
  readLinks().catch((error) => tell([error.message]));
}

// Sends what is to be failed or restored after all that was sent before it.
let orders = Promise.resolve();
function change(is_up) {
  const selected = scene.selection, fabric = state.fabric;
  if (selected === null || selected.kind === "band") return;
  orders = orders.then(() => sendChange(selected, fabric, is_up));
}

// The answer names the link or node: another one may be selected by then. An order for another fabric is not sent.
async function sendChange(selected, fabric, is_up) {
  const what = is_up ? "restore" : "fail";
  const is_link = selected.kind === "link";
  const name = is_link ? `link ${linkName(selected)}` : `node of level ${selected.level}, row ${selected.row}`;
  const told = element("change");
  if (fabric !== state.fabric) {
    told.textContent = `${name}: another fabric was loaded meanwhile`;
    return;
  }
  try {
    if (is_link) await post(`/api/link/${what}`, { stage: selected.stage, row: selected.row, port: selected.port });
    else await post(`/api/node/${what}`, { level: selected.level % state.topology.levels, row: selected.row });
    told.textContent = `${is_up ? "restored" : "failed"} ${name}`;
  } catch (error) {
    told.textContent = `${name}: ${error.message}`;
  }
  // The next order does not wait for the figures.
  read();
}

function pickCircuit(circuit) {
  scene.circuit = scene.circuit !== null && scene.circuit.id === circuit.id ? null : circuit;
  if (scene.circuit !== null && (circuit.input < view.firstRow || circuit.input > view.lastRow)) view.all();
  showCircuits();
  draw();
}

function showCircuits() {
  fillCircuits(element("circuit-list"), state.circuits, scene.circuit, pickCircuit);
}

// Reads the first pages of a list of circuits. Returns null if the list is not wanted any more.
async function listCircuits(query, pages, isWanted) {
  const circuits = [];
  let next = "", total = 0;
  for (let page = 0; page < pages && (page === 0 || next !== ""); ++page) {
    const answer = await get("/api/circuits", next ? { ...query, page_token: next } : query);
    if (!isWanted()) return null;
    circuits.push(...answer.circuits);
    next = answer.next_page_token;
    total = answer.total;
  }
  return { circuits, next, total };
}

// Reads the pages of the list anew, those that "More" added too, and swaps the list at once.
async function readCircuits() {
  const { query, pages } = state;
  const list = await listCircuits(query, pages, () => query === state.query && pages === state.pages);
  if (list !== null) swapCircuits(list);
}

function swapCircuits({ circuits, next, total }) {
  state.circuits = circuits;
  element("more").hidden = next === "";
  element("circuits-told").textContent = `${state.find_error}${circuits.length} of ${total}`;
  if (scene.circuit !== null) {
    // The path may have changed or broken. A circuit that is not listed any more is not drawn.
    scene.circuit = state.circuits.find((circuit) => circuit.id === scene.circuit.id) ?? null;
  }
  showCircuits();
}

function readMoreCircuits() {
  ++state.pages;
  return readCircuits();
}

async function readTopology() {
  const topology = await get("/api/topology");
  if (topology.fabric !== state.fabric) {
    view.setNetwork(topology);
    Object.assign(scene, { links: null, bands: [], selection: null, circuit: null });
    player.close();
    if (state.fabric !== null) {
      // What was searched for may not be a row of this network, and another controller has another token.
      element("find-form").reset();
      Object.assign(state, { query: { find: "" }, sought: null, find_error: "", pages: 1 });
      readRole();
    }
    state.fabric = topology.fabric;
    select(null);
  }
  state.topology = topology;
  element("name").textContent = topology.name;
  document.title = `${topology.name} - bfly`;
  element("network").textContent = `${topology.kind} of ${topology.rows} rows, ${topology.stages} stages, ` +
    `${topology.link_count - topology.free_links} links` +
    (topology.every_link ? "" : "; the picture of all rows has only the fullest links");
  tell(topology.problems);
}

// While the view moves, one request is under way at a time, and the last view is asked for.
async function readLinks() {
  if (!view.isClose) return;
  state.wants_links = true;
  if (state.reads_links) return;
  state.reads_links = true;
  try {
    while (state.wants_links && view.isClose) {
      state.wants_links = false;
      const answer = await get("/api/links", { first_row: view.firstRow, last_row: view.lastRow });
      if (answer.fabric !== state.fabric) return;
      scene.links = objectsOf(answer.links);
      draw();
    }
  } finally {
    state.reads_links = false;
  }
}

// The links in view may leave out the selected one.
async function readSelected() {
  const wanted = scene.selection;
  if (wanted === null || wanted.kind !== "link" || linkInView(wanted)) return;
  const { stage, row } = wanted;
  const answer = await get("/api/links", { first_row: row, last_row: row, first_stage: stage, last_stage: stage });
  if (answer.fabric !== state.fabric || wanted !== scene.selection) return;
  const found = findLink(objectsOf(answer.links), wanted);
  if (found) scene.selection = { kind: "link", ...found };
}

async function readLoad() {
  const answer = await get("/api/load", { bands: view.bands, by: TELLS[scene.figure], hottest: HOTTEST });
  if (answer.fabric !== state.fabric) return;
  scene.bands = objectsOf(answer.links);
  scene.band_count = answer.bands;
  fillHottest(element("hottest").tBodies[0], objectsOf(answer.hottest), pickLink);
}

async function readHistory() {
  const answer = await get("/api/history");
  state.moments = objectsOf(answer.moments);
  const last = state.moments[state.moments.length - 1];
  if (!last) return;
  for (const name of ["injected", "delivered", "dropped", "in_flight", "circuits", "broken"]) element(name).textContent = last[name];
  element("injected-rate").textContent = short(last.injected_rate);
  element("delivered-rate").textContent = short(last.delivered_rate);
  element("drop-rate").textContent = short(last.drop_rate);
  element("drop-reasons").textContent = Object.entries(answer.drops).map(([reason, packets]) => `${reason} ${packets}`).join(", ");
  drawStrip();
}

async function readPorts() {
  fillPorts(element("ports").tBodies[0], (await get("/api/ports")).ports);
}

// Searches for what the form says, which may change while somebody types. A wrong search leaves the list as it is.
async function findCircuits() {
  const query = { find: element("find").value.replaceAll(" ", "") };
  if (element("only-broken").checked) query.broken = "1";
  state.sought = query;
  const isWanted = () => query === state.sought;
  try {
    const list = await listCircuits(query, 1, isWanted);
    if (list === null) return;
    Object.assign(state, { query, pages: 1, find_error: "" });
    swapCircuits(list);
  } catch (error) {
    if (!isWanted()) return;
    state.find_error = `${error.message}. The search before it: `;
    element("circuits-told").textContent = error.message;
  }
}

async function read() {
  try {
    await readTopology();
    const parts = [readLoad(), readLinks().then(readSelected), readHistory(), readPorts(), readCircuits()];
    const failed = (await Promise.allSettled(parts)).filter((part) => part.status === "rejected");
    if (failed.length > 0) tell([...state.topology.problems, ...new Set(failed.map((part) => part.reason.message))]);
  } catch (error) {
    tell([error.message]);
  }
  showSelection();
  ++state.readings;
}

async function readRole() {
  try {
    element("role").textContent = (await get("/api/role")).role;
    element("change").textContent = "";
  } catch (error) {
    element("role").textContent = "viewer";
    element("change").textContent = error.message;
  }
}

async function forever() {
  for (;;) {
    if (!document.hidden) await read();
    await new Promise((resolve) => setTimeout(resolve, INTERVAL));
  }
}

function start() {
  startTheme(element("theme"), drawAll);
  startInput({
    canvas, view, scene, player, select, change,
    moved: () => {
      draw();
      readLinks().catch((error) => tell([error.message]));
    },
  });
  element("figure").addEventListener("change", (event) => {
    scene.figure = event.target.value;
    readLoad().then(draw, (error) => tell([error.message]));
  });
  element("fail").addEventListener("click", () => change(false));
  element("restore").addEventListener("click", () => change(true));
  element("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    setToken(element("token").value);
    element("token").value = "";
    readRole();
  });
  element("find-form").addEventListener("submit", (event) => {
    event.preventDefault();
    findCircuits();
  });
  element("only-broken").addEventListener("change", findCircuits);
  element("more").addEventListener("click", () => readMoreCircuits().catch((error) => tell([error.message])));
  new ResizeObserver(drawAll).observe(document.body);
  // For scripts that drive the page: what it shows, and where.
  window.bfly = { view, scene, state, player, colours, drawNow, pickLink };
  readRole();
  player.readPrograms().catch((error) => tell([error.message]));
  forever();
}

start();
