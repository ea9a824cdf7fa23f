// SPDX-License-Identifier: Apache-2.0
// The lists beside the network. Text is only ever set as text.
import { short } from "./colours.js";

function cell(row, content) {
  const td = row.insertCell();
  if (content instanceof Node) td.append(content);
  else td.textContent = content;
  return td;
}

function button(text, pressed) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", pressed);
  return made;
}

function setText(node, text) {
  if (node.textContent !== `${text}`) node.textContent = text;
}

export function linkName(link) {
  return `${link.stage}.${link.row}.${link.port}`;
}

// A list that is filled again must not take the focus from a button in it.
function refill(body, fill) {
  const focused = body.contains(document.activeElement) ? document.activeElement.textContent : null;
  body.replaceChildren();
  fill();
  if (focused === null) return;
  for (const made of body.querySelectorAll("button")) if (made.textContent === focused) made.focus();
}

function addHottestRow(body, pick) {
  const row = body.insertRow();
  const made = button("", (event) => pick(event.detail > 0 ? row.pressed : row.link));
  // Until the click ends, the row may show another link.
  made.addEventListener("pointerdown", () => {
    row.pressed = row.link;
  });
  cell(row, made);
  for (let column = 0; column < 6; ++column) cell(row, "");
  return row;
}

// The rows stay while their text changes: a click may be on its way to one.
export function fillHottest(body, links, pick) {
  const focused = body.contains(document.activeElement) ? document.activeElement.textContent : null;
  while (body.rows.length > links.length) body.deleteRow(-1);
  links.forEach((link, at) => {
    const row = body.rows[at] ?? addHottestRow(body, pick);
    row.link = link;
    row.className = link.down ? "is-broken" : "";
    setText(row.querySelector("button"), linkName(link));
    [link.next_row, link.packets, short(link.packet_rate), link.occupancy, link.circuits, link.drops].forEach((text, column) => {
      setText(row.cells[column + 1], text);
    });
    // The focus goes with the link.
    if (linkName(link) === focused) row.querySelector("button").focus();
  });
}

export function fillPorts(body, ports) {
  body.replaceChildren();
  for (const port of ports) {
    const row = body.insertRow();
    cell(row, port.name).title = port.driver;
    for (const text of [port.data_plane, port.rx_packets, short(port.rx_rate), port.tx_packets, short(port.tx_rate)]) cell(row, text);
    const lost = cell(row, port.lost);
    const reasons = Object.entries(port.drops).map(([reason, packets]) => `${reason} ${packets}`);
    if (port.rx_missed > 0) reasons.push(`missed by the device ${port.rx_missed}`);
    if (reasons.length > 0) lost.append(document.createElement("br"), reasons.join(", "));
    if (port.lost > 0) lost.className = "is-broken";
  }
}

export function fillCircuits(list, circuits, picked, pick) {
  // A list that shows this already keeps its elements: a click may be on its way to one.
  const shows = JSON.stringify([circuits, picked === null ? null : picked.id]);
  if (list.shows === shows) return;
  list.shows = shows;
  refill(list, () => {
    for (const circuit of circuits) {
      const made = button(`${circuit.input} to ${circuit.output}`, () => pick(circuit));
      made.dataset.id = circuit.id;
      made.setAttribute("aria-pressed", picked !== null && picked.id === circuit.id ? "true" : "false");
      const item = document.createElement("li");
      item.append(made, ` id ${circuit.id}, congestion ${circuit.congestion}`);
      if (circuit.broken.length > 0) {
        const told = document.createElement("span");
        told.className = "is-broken";
        told.textContent = ` broken at ${circuit.broken.map(linkName).join(", ")}`;
        item.append(told);
      }
      list.append(item);
    }
  });
}
