// SPDX-License-Identifier: Apache-2.0
// Draws the packets of a program over the network. A packet that moves is a disc on its link, one that waits is a ring,
// and one that has arrived is a square. Packets that stand at one node are one mark with their number.
import { colours } from "./colours.js";
import { strokeLines } from "./draw.js";

const MOST_RADIUS = 6, LEAST_RADIUS = 1.25;

// The point of a packet at a time, which may be between two steps: [x, y]. `level` is that at the end of the step.
function pointOf(view, recording, packet, time, level) {
  const step = Math.ceil(time);
  if (time < step && level > 0 && recording.crossings[recording.first[packet] + level - 1] === step) {
    const [x0, y0, x1, y1] = view.line(recording.linkFrom(packet, level - 1));
    const part = time - (step - 1);
    return [x0 + (x1 - x0) * part, y0 + (y1 - y0) * part];
  }
  return [view.x(level), view.y(recording.rowAt(packet, level))];
}

export function radiusOf(view) {
  return Math.max(LEAST_RADIUS, Math.min(MOST_RADIUS, (view.height / view.span) * 0.4));
}

// Where rows lie close together, every mark is a small square of its colour, and there are no trails.
function isDense(radius) {
  return radius < 1.8;
}

// Packets that cross one stage stand in one column. Squares of a column that touch are drawn as one rectangle.
function squares(context, points, radius, colour) {
  const columns = new Map();
  for (const [x, y] of points) {
    const column = columns.get(x);
    if (column) column.push(y);
    else columns.set(x, [y]);
  }
  context.fillStyle = colour;
  for (const [x, column] of columns) {
    const ys = Float64Array.from(column).sort();
    for (let i = 0; i < ys.length; ) {
      const top = ys[i++];
      while (i < ys.length && ys[i] - ys[i - 1] <= 2 * radius) ++i;
      context.fillRect(x - radius, top - radius, 2 * radius, ys[i - 1] - top + 2 * radius);
    }
  }
}

function circles(context, points, radius, style) {
  context.beginPath();
  for (const [x, y, count] of points) {
    const size = radius * (count > 1 ? 1.25 : 1);
    context.moveTo(x + size, y);
    context.arc(x, y, size, 0, 2 * Math.PI);
  }
  style();
}

function numbers(context, points, radius, colour) {
  if (radius < 4.5) return;
  context.font = "10px system-ui, sans-serif";
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillStyle = colour;
  for (const [x, y, count] of points) if (count > 1) context.fillText(`${count}`, x + radius * 1.25 + 2, y - radius);
}

function drawPath(context, view, recording, packet, step) {
  const lines = recording.path(packet).map((link) => view.line(link));
  const level = recording.levelAt(packet, step);
  strokeLines(context, lines.slice(0, level), colours().path, 4);
  strokeLines(context, lines.slice(level), colours().path, 2, [4, 4]);
}

function drawMarks(context, { to_come, waiting, moving }, radius) {
  const all = colours();
  circles(context, to_come, radius * 0.5, () => {
    context.fillStyle = all.frame;
    context.fill();
  });
  circles(context, waiting, radius, () => {
    context.fillStyle = all.paper;
    context.fill();
    context.strokeStyle = all.waiting;
    context.lineWidth = Math.max(1, radius / 2.5);
    context.stroke();
  });
  circles(context, moving, radius, () => {
    context.fillStyle = all.moving;
    context.fill();
  });
}

// Adds a packet to the mark of its node.
function stand(marks, view, level, row) {
  const key = level * view.rows + row;
  const mark = marks.get(key);
  if (mark) ++mark[2];
  else marks.set(key, [view.x(level), view.y(row), 1]);
}

// `time` is the end of a step, or between two of them.
export function drawPackets(context, view, recording, time, picked) {
  const all = colours(), step = Math.ceil(time), radius = radiusOf(view), dense = isDense(radius);
  const moving = [], trails = [], waiting = new Map(), delivered = new Map(), to_come = new Map();
  for (let packet = 0; packet < recording.packets; ++packet) {
    const level = recording.levelAt(packet, step), state = recording.stateAt(packet, step, level);
    if (state === "left out") continue;
    const crosses = level > 0 && recording.crossings[recording.first[packet] + level - 1] === step;
    if (crosses && (state === "moving" || time < step)) {
      const [x, y] = pointOf(view, recording, packet, time, level);
      moving.push([x, y, 1]);
      if (dense) continue;
      const [x0, y0] = view.line(recording.linkFrom(packet, level - 1));
      trails.push([x0, y0, x, y]);
    } else {
      if (crosses && !dense) trails.push(view.line(recording.linkFrom(packet, level - 1)));
      stand(state === "delivered" ? delivered : state === "to come" ? to_come : waiting, view, level, recording.rowAt(packet, level));
    }
  }
  context.clearRect(0, 0, view.width, view.height);
  strokeLines(context, trails, all.moving, Math.max(1, radius / 2.5));
  if (picked !== null) drawPath(context, view, recording, picked, step);
  squares(context, delivered.values(), radius, all.delivered);
  if (dense) {
    squares(context, to_come.values(), radius, all.frame);
    squares(context, waiting.values(), radius, all.waiting);
    squares(context, moving, radius, all.moving);
  } else {
    drawMarks(context, { to_come: to_come.values(), waiting: waiting.values(), moving }, radius);
  }
  numbers(context, [...waiting.values(), ...to_come.values(), ...delivered.values()], radius, all.ink);
  if (picked !== null) {
    circles(context, [[...pointOf(view, recording, picked, time, recording.levelAt(picked, step)), 1]], radius + 4, () => {
      context.strokeStyle = all.selected;
      context.lineWidth = 2;
      context.stroke();
    });
  }
}

// The packets within reach of a point, the nearest first.
export function packetsNear(view, recording, step, x, y, reach) {
  const found = [];
  for (let packet = 0; packet < recording.packets; ++packet) {
    const at = recording.at(packet, step);
    if (at.state === "left out") continue;
    const away = Math.hypot(view.x(at.level) - x, view.y(at.row) - y);
    if (away <= reach) found.push([away, packet]);
  }
  return found.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, packet]) => packet);
}
