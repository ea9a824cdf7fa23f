// SPDX-License-Identifier: Apache-2.0
// Draws the network. Lines of one colour are one path, so thousands of links take a few strokes.
import { STEPS, colours, niceAbove, stepOf } from "./colours.js";

const VALUES = {
  rate: { of_link: (link) => link.packet_rate, of_band: (band) => band.most_packet_rate },
  bytes: { of_link: (link) => link.byte_rate, of_band: (band) => band.most_byte_rate },
  occupancy: { of_link: (link) => link.occupancy, of_band: (band) => band.most_occupancy },
  circuits: { of_link: (link) => link.congestion, of_band: (band) => band.most_circuits },
  drops: { of_link: (link) => link.drops, of_band: (band) => band.most_drops },
};

export function strokeLines(context, lines, colour, width, dash = []) {
  if (lines.length === 0) return;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  for (const [x0, y0, x1, y1] of lines) {
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
  }
  context.stroke();
  context.setLineDash([]);
}

function drawNodes(context, view, rows, radius) {
  const all = colours();
  context.fillStyle = all.frame;
  context.beginPath();
  for (let level = 0; level <= view.stages; ++level) {
    for (const row of rows) {
      context.moveTo(view.x(level) + radius, view.y(row));
      context.arc(view.x(level), view.y(row), radius, 0, 2 * Math.PI);
    }
  }
  context.fill();
}

function drawNames(context, view, rows) {
  context.fillStyle = colours().ink;
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "top";
  const every = Math.ceil((view.stages + 1) / Math.max(1, view.width / 40));
  for (let level = 0; level <= view.stages; level += every) context.fillText(`${level}`, view.x(level), 2);
  context.textAlign = "right";
  context.textBaseline = "middle";
  const step = Math.ceil((rows.length * 13) / view.height);
  for (let i = 0; i < rows.length; i += step) {
    const y = view.y(rows[i].row);
    if (y > 16 && y < view.height - 6) context.fillText(rows[i].name, view.x(0) - 6, y);
  }
}

function circuitLines(view, circuit) {
  const whole = [], broken = [];
  for (let hop = 0; hop + 1 < circuit.rows.length; ++hop) {
    // On a wrapped network a circuit goes over the stages several times.
    const stage = hop % view.stages;
    const link = { stage, row: circuit.rows[hop], next_row: circuit.rows[hop + 1], port: circuit.ports[hop] ?? 0 };
    const is_broken = circuit.broken.some((down) => down.stage === stage && down.row === link.row);
    (is_broken ? broken : whole).push(view.line(link));
  }
  return { whole, broken };
}

// Draws everything. `scene` has figure, links (close) or bands, selection, circuit and is_quiet. Returns the end of the scale.
export function drawFabric(context, view, scene) {
  const all = colours();
  const close = view.isClose && scene.links !== null;
  const items = close ? scene.links : scene.bands;
  // Under the packets of a program links are plain.
  const value = scene.is_quiet ? () => 0 : close ? VALUES[scene.figure].of_link : VALUES[scene.figure].of_band;
  const shown = [];
  let most = 0;
  for (const item of items) {
    const line = close ? view.line(item) : view.bandLine(item, scene.band_count);
    // What is above or below the canvas costs nothing, and is not on the scale.
    if ((line[1] < 0 && line[3] < 0) || (line[1] > view.height && line[3] > view.height)) continue;
    shown.push([item, line]);
    most = Math.max(most, value(item));
  }
  most = niceAbove(most);
  const by_step = Array.from({ length: STEPS }, () => []);
  const down = [], partly_down = [];
  for (const [item, line] of shown) {
    if (item.down > 0 && (close || item.down === item.links)) {
      down.push(line);
      continue;
    }
    by_step[stepOf(value(item), most)].push(line);
    if (item.down > 0) partly_down.push(line);
  }
  context.fillStyle = all.paper;
  context.fillRect(0, 0, view.width, view.height);
  context.lineCap = "butt";
  by_step.forEach((lines, step) => strokeLines(context, lines, all.scale[step], step === 0 ? 1 : 1 + step / 4));
  strokeLines(context, down, all.down, 3, [7, 4]);
  // The colour of the load stays in sight between these.
  strokeLines(context, partly_down, all.down, 2, [4, 12]);
  const rows = [];
  if (close) for (let row = view.firstRow; row <= view.lastRow; ++row) rows.push({ row, name: `${row}` });
  else {
    const each = view.rows / scene.band_count;
    for (let band = 0; band < scene.band_count; ++band)
      rows.push({ row: view.bandRow(band, scene.band_count), name: `${Math.ceil(band * each)}` });
  }
  drawNodes(context, view, rows.map((row) => row.row), close ? Math.min(4, Math.max(1, (view.height / view.span) / 5)) : 2.5);
  drawNames(context, view, rows);
  if (scene.circuit) {
    const lines = circuitLines(view, scene.circuit);
    strokeLines(context, lines.whole, all.path, 4);
    strokeLines(context, lines.broken, all.down, 4, [7, 4]);
  }
  drawSelection(context, view, scene);
  return most;
}

function drawSelection(context, view, { selection, band_count }) {
  if (!selection) return;
  const all = colours();
  if (selection.kind === "node") {
    context.strokeStyle = all.selected;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(view.x(selection.level), view.y(selection.row), 8, 0, 2 * Math.PI);
    context.stroke();
    return;
  }
  const [x0, y0, x1, y1] = selection.kind === "link" ? view.line(selection) : view.bandLine(selection, band_count);
  // Two thin lines, so that the colour of the link between them stays in sight.
  strokeLines(context, [[x0, y0 - 4, x1, y1 - 4], [x0, y0 + 4, x1, y1 + 4]], all.selected, 1);
}

export function drawScale(canvas) {
  const context = canvas.getContext("2d");
  const each = canvas.width / STEPS;
  colours().scale.forEach((colour, step) => {
    context.fillStyle = colour;
    context.fillRect(step * each, 0, each, canvas.height);
  });
}
