// SPDX-License-Identifier: Apache-2.0
// Requests to the page's own server.

let token = sessionStorage.getItem("token") || "";

export function setToken(text) {
  token = text.trim();
  sessionStorage.setItem("token", token);
}

async function answerOf(response) {
  const text = await response.text();
  let answer = {};
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Error(`the server answered ${response.status} without JSON`);
  }
  if (!response.ok) throw new Error(answer.error || `the server answered ${response.status}`);
  return answer;
}

export async function get(path, query = {}) {
  const words = new URLSearchParams(query).toString();
  const headers = path === "/api/role" && token ? { Authorization: `Bearer ${token}` } : {};
  return answerOf(await fetch(words ? `${path}?${words}` : path, { headers, signal: AbortSignal.timeout(15000) }));
}

export async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  return answerOf(await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal: AbortSignal.timeout(15000) }));
}

// {columns: [...], rows: [[...]]} as objects.
export function objectsOf(table) {
  return table.rows.map((row) => Object.fromEntries(table.columns.map((name, i) => [name, row[i]])));
}
