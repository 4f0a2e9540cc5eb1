// Keeps the page fresh, and sends answers without leaving it. Without it the page works when it is loaded again.
// A call that waits never moves while it can be answered, so that no click can reach another one.
"use strict";

const PERIOD = 1500;
const waiting = document.getElementById("waiting");
const news = document.getElementById("news");
const said = document.getElementById("said");

function say(text) {
  news.textContent = text;
}

function setText(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

function take(fresh) {
  const open = new Map([...fresh.querySelectorAll("#waiting article")].map((call) => [call.id, call]));
  for (const call of waiting.children) {
    const now = open.get(call.id);
    if (now) setText(call.querySelector(".clock"), now.querySelector(".clock").textContent);
    else close(call);
    open.delete(call.id);
  }
  for (const call of open.values()) {
    waiting.append(document.adoptNode(call));
    say(`A call waits: ${call.dataset.subject}`);
  }
  sweep();
  for (const part of fresh.querySelectorAll("[data-live]")) {
    const shown = document.getElementById(part.id);
    const details = shown.querySelector("details");
    if (details && part.querySelector("details")) part.querySelector("details").open = details.open;
    if (shown.innerHTML !== part.innerHTML && !shown.contains(document.activeElement)) {
      const top = shown.scrollTop;
      shown.replaceWith(document.adoptNode(part));
      part.scrollTop = top;
    }
  }
}

function close(call) {
  if (call.classList.contains("over")) return;
  call.classList.add("over");
  setText(call.querySelector(".clock"), "It waits no longer; the decision is below.");
  for (const button of call.querySelectorAll("button")) button.disabled = true;
}

// What is over goes when nobody points into the list, so that nothing slides under a pointer.
function sweep() {
  if (!waiting.matches(":hover, :focus-within")) {
    for (const call of waiting.querySelectorAll(".over")) call.remove();
  }
  const left = waiting.querySelectorAll("article:not(.over)").length;
  document.getElementById("nothing").hidden = left > 0;
  document.title = left ? `(${left}) AgentFence approvals` : "AgentFence approvals";
}

async function load(address, request) {
  const answer = await fetch(address, request);
  if (answer.status === 403) throw new Error("mitmweb asks for its token again: load this page anew");
  // What the template escaped stays text: a document that is parsed like this runs nothing.
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

async function refresh() {
  try {
    if (!document.hidden) take(await load("/agentfence/"));
    if (news.dataset.lost) say("");
    delete news.dataset.lost;
  } catch (error) {
    if (!news.dataset.lost) say(error instanceof TypeError ? "mitmweb cannot be reached" : error.message);
    news.dataset.lost = "yes";
  }
  news.classList.toggle("heard", !news.dataset.lost);
  setTimeout(refresh, PERIOD);
}

document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = new FormData(event.target, event.submitter);
  const buttons = event.target.querySelectorAll("button");
  for (const button of buttons) button.disabled = true;
  try {
    const fresh = await load(event.target.action, { method: "POST", body: new URLSearchParams(body) });
    setText(said, fresh.getElementById("said").textContent);
    said.focus(); // the button that had it is over
    take(fresh);
  } catch (error) {
    for (const button of buttons) button.disabled = false;
    setText(said, `It was not sent: ${error.message}`);
  }
});

sweep();
setTimeout(refresh, PERIOD);
