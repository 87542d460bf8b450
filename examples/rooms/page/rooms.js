"use strict";

const most = 500; // messages shown in a room
const timeout = 25000; // of a request that waits, in milliseconds
const state = document.getElementById("state");
const rooms = new Map();
for (const section of document.querySelectorAll("section")) {
  rooms.set(section.dataset.room, section);
}

// since says what the page has: the server gave it, and understands it also after
// a restart. atLeast covers the own messages that were sent.
let since = "";
let atLeast = "";
let waiting = new AbortController();

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

function show(text, live) {
  if (state.textContent !== text) state.textContent = text;
  state.classList.toggle("live", live);
}

// line makes the line of a message. What people wrote becomes text, never HTML.
function line(message) {
  const li = document.createElement("li");
  const when = new Date(message.time);
  const time = document.createElement("time");
  time.dateTime = message.time;
  time.textContent = when.toLocaleTimeString();
  const name = document.createElement("b");
  name.textContent = message.name;
  li.append(time, name, message.text);
  li.title = `message ${message.seq} of ${message.room}, appended by process ${message.writer}`;
  li.dataset.seq = message.seq;
  return li;
}

function take(news) {
  for (const [, section] of rooms) {
    const list = section.querySelector("ol");
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    if (news.reset) list.replaceChildren();
    list.append(...news.messages.filter((m) => m.room === section.dataset.room).map(line));
    while (list.childElementCount > most) list.firstElementChild.remove();
    if (atEnd) list.scrollTop = list.scrollHeight;
  }
  for (const room of news.rooms) {
    const small = rooms.get(room.room)?.querySelector("small");
    if (small) small.textContent = room.messages === 1 ? "1 message" : `${room.messages} messages`;
  }
  since = news.since;
}

async function follow() {
  let first = true; // it is answered at once, to see the connection
  for (let failures = 0; ; ) {
    waiting = new AbortController();
    const query = new URLSearchParams({ since, atleast: atLeast, timeout: first ? 0 : timeout });
    const signal = AbortSignal.any([waiting.signal, AbortSignal.timeout(timeout + 20000)]);
    try {
      const response = await fetch(`/sync?${query}`, { signal });
      if (response.status === 410) {
        // Another database: nothing of what the page has is in it.
        since = atLeast = "";
        first = true;
        if (++failures > 1) await pause(1000);
        continue;
      }
      if (!response.ok) {
        const after = Number(response.headers.get("Retry-After")) * 1000; // of null it is 0
        throw Object.assign(new Error(`status ${response.status}`), { after });
      }
      take(await response.json());
      first = false;
      failures = 0;
      show("live", true);
    } catch (error) {
      if (waiting.signal.aborted) continue; // something was sent
      first = true;
      show("connection lost, trying again", false);
      await pause(Math.max(error.after || 0, Math.min(250 * 2 ** failures++, 5000)));
    }
  }
}

function newID() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

// send does not give up as long as the server may not have the message: with the
// same id it is stored once, however often it is sent.
async function send(room, message, problem) {
  for (let failures = 0; ; failures++) {
    try {
      const response = await fetch(`/rooms/${room}/messages`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(message),
        signal: AbortSignal.timeout(20000),
      });
      const answer = await response.json();
      if (response.ok) {
        problem.textContent = "";
        atLeast = answer.token;
        waiting.abort(); // ask again, for what the token covers
        return true;
      }
      if (response.status !== 503) {
        problem.textContent = `Not sent: ${answer.error}${answer.want ? `; wanted is ${answer.want}` : ""}`;
        return false;
      }
    } catch {
      // the server is away, or its answer is lost
    }
    problem.textContent = "Not sent yet, trying again.";
    await pause(Math.min(250 * 2 ** failures, 5000));
  }
}

const yourName = document.getElementById("name");
yourName.value = localStorage.getItem("name") ?? "";
yourName.addEventListener("change", () => localStorage.setItem("name", yourName.value));

for (const [room, section] of rooms) {
  const form = section.querySelector("form");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!yourName.reportValidity()) return;
    const text = form.elements.text;
    const button = form.querySelector("button");
    if (button.disabled) return;
    button.disabled = true;
    const message = { id: newID(), name: yourName.value, text: text.value };
    const sent = await send(room, message, form.querySelector(".problem"));
    button.disabled = false;
    if (sent && text.value === message.text) text.value = "";
  });
}

follow();
