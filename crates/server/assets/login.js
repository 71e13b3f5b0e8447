// Trades the code behind the "#" for a cookie, and leaves no trace of it in the history.
"use strict";

const state = document.getElementById("state");
const form = document.getElementById("form");
const field = document.getElementById("code");

function takeCode() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (location.hash || location.search) {
    history.replaceState(null, "", "/login");
  }
  return code;
}

async function logIn(code) {
  form.hidden = true;
  state.textContent = "Logging in …";
  let problem = "The daemon does not answer.";
  try {
    const answer = await fetch("/v1/login", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ code }),
      credentials: "same-origin",
    });
    if (answer.ok) {
      location.replace("/");
      return;
    }
    problem =
      answer.status === 429
        ? "Too many wrong codes. Try again in a minute."
        : "This code is wrong, used or too old. A new link comes from: switchyard token login";
  } catch {
    // Said below.
  }
  state.textContent = problem;
  form.hidden = false;
  field.value = "";
  field.focus();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  logIn(field.value.trim());
});

// A link opened while this page is open changes only what is behind the "#".
addEventListener("hashchange", () => {
  const code = takeCode();
  if (code) logIn(code);
});

const code = takeCode();
if (code) logIn(code);
