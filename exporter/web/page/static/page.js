// Updates the page every few seconds, searches while the user types, and keeps the focus and the scroll positions.
// Without this script, the page works by links and a form. The script writes no HTML: the browser parses the answer of
// the server, and parsed elements replace those of the page.
"use strict";

(() => {
  const UPDATE_MILLISECONDS = 5000;
  const TYPING_MILLISECONDS = 150;
  const TIMEOUT_MILLISECONDS = 15000;
  const form = document.getElementById("find");
  const search = document.getElementById("search");
  const announcer = document.getElementById("announcer");
  const asOf = document.getElementById("as-of");
  let request = null;
  let searchTimer = 0;
  let updateTimer = 0;
  let isPaused = false;

  function fetchPage(url, done) {
    if (request) request.abort();
    const asked = new XMLHttpRequest();
    request = asked;
    asked.open("GET", url);
    asked.responseType = "document";
    asked.timeout = TIMEOUT_MILLISECONDS;
    asked.onload = () => {
      request = null;
      const page = asked.status === 200 ? asked.response : null;
      if (page && page.getElementById("answer")) done(page);
      else showLoss();
      updateLater();
    };
    asked.onerror = asked.ontimeout = () => {
      request = null;
      showLoss();
      updateLater();
    };
    asked.send();
  }

  function showLoss() {
    asOf.classList.add("lost");
    if (!asOf.textContent.startsWith("Not updated")) asOf.prepend("Not updated: the exporter sends no page. ");
  }

  function isBeingRead(part) {
    const selection = document.getSelection();
    return !selection.isCollapsed && selection.containsNode(part, true);
  }

  function show(page) {
    const focused = document.activeElement && document.activeElement.id;
    document.title = page.title;
    for (const part of document.querySelectorAll("[data-live]")) {
      const fresh = page.getElementById(part.id);
      if (!fresh || isBeingRead(part)) continue;
      const places = [...part.querySelectorAll(".frame")].map((frame) => frame.scrollLeft);
      part.className = fresh.className;
      part.replaceChildren(...document.importNode(fresh, true).childNodes);
      [...part.querySelectorAll(".frame")].forEach((frame, index) => {
        frame.scrollLeft = places[index] || 0;
      });
    }
    const again = focused && document.getElementById(focused);
    if (again && again !== document.activeElement) again.focus({ preventScroll: true });
  }

  function announce() {
    announcer.textContent = document.getElementById("found").textContent;
  }

  // Asks for another view of the targets, as a link or the form would.
  function go(url, { remember }) {
    const address = new URL(url, location.href);
    fetchPage(address.pathname + address.search, (page) => {
      if (remember) history.pushState(null, "", address);
      else history.replaceState(null, "", address);
      show(page);
      fillForm(page);
      announce();
    });
  }

  // The field in which the user types keeps its text; the others get their values from the new page, if it has them.
  function fillForm(page) {
    for (const kept of form.querySelectorAll("input[type=hidden]")) kept.remove();
    for (const kept of page.querySelectorAll("#find input[type=hidden]")) form.append(document.importNode(kept));
    for (const field of form.querySelectorAll("select, #search")) {
      const fresh = page.getElementById(field.id);
      if (fresh && field !== document.activeElement) field.value = fresh.value;
    }
  }

  function find({ remember }) {
    clearTimeout(searchTimer);
    const asked = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value) asked.append(name, value);
    const query = asked.toString();
    go(query ? `./?${query}` : "./", { remember });
  }

  function updateLater() {
    clearTimeout(updateTimer);
    updateTimer = setTimeout(() => {
      if (isPaused || document.hidden || request) updateLater();
      else fetchPage(location.pathname + location.search, show);
    }, UPDATE_MILLISECONDS);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    find({ remember: true });
  });
  form.addEventListener("change", (event) => {
    if (event.target !== search) find({ remember: true });
  });
  search.addEventListener("input", () => {
    clearTimeout(searchTimer);
    searchTimer = setTimeout(() => find({ remember: false }), TYPING_MILLISECONDS);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-swap]");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const isElsewhere = !link.closest("#targets");
    go(link.href.split("#")[0], { remember: true });
    if (isElsewhere) document.getElementById("targets").scrollIntoView();
  });
  addEventListener("popstate", () => {
    if (document.activeElement === search) search.blur();
    fetchPage(location.pathname + location.search, (page) => {
      show(page);
      fillForm(page);
      announce();
    });
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && !isPaused && !request) fetchPage(location.pathname + location.search, show);
  });

  const pause = document.createElement("button");
  pause.id = "pause";
  pause.type = "button";
  pause.textContent = "Pause updates";
  pause.setAttribute("aria-pressed", "false");
  pause.addEventListener("click", () => {
    isPaused = !isPaused;
    pause.setAttribute("aria-pressed", String(isPaused));
  });
  asOf.after(pause);
  updateLater();
})();
