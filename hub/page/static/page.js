'use strict';
(() => {
  const $ = (s, in_ = document) => in_.querySelector(s), $$ = (s, in_ = document) => [...in_.querySelectorAll(s)];
  const kept = { get: k => { try { return localStorage.getItem(k); } catch { return null; } }, set: (k, v) => { try { localStorage.setItem(k, v); } catch { /* not kept */ } } };
  document.documentElement.classList.add('js');

  // Links that are used up by being followed, and pages that were asked for from elsewhere, go on by themselves.
  const entry = $('form[data-send]'); if (entry) { entry.requestSubmit(); return; }
  const again = $('a[data-again]'); if (again) { location.replace(again.href); return; }

  const live = $('#live'); if (!live) { copies(); return; }
  const here = () => location.pathname + location.search;
  let alive = performance.now(), lastSaid = 0, still = false, waiting = new Map(), ended = '', failed = 0, code = 0;

  // What changed is said at most every ten seconds.
  function say(text) {
    const now = performance.now();
    if (now - lastSaid < 10000) return;
    lastSaid = now; $('#said').textContent = text;
  }

  // swap puts a part in the place of what was there, and leaves focus, what is open, and what is being typed.
  function swap(part, asked) {
    const old = document.getElementById(part.id);
    if (!old || old.dataset.sum === part.sum) return;
    if (old.contains(document.activeElement) && /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) { waiting.set(part.id, part); return; }
    const focus = old.contains(document.activeElement) ? place(document.activeElement, old) : null;
    const open = $$('details[open]', old).map(d => d.dataset.id || d.textContent.slice(0, 40));
    const scrolls = $$('.wide', old).map(anchor);
    const fresh = document.createElement('template');
    fresh.innerHTML = part.html;
    old.replaceChildren(fresh.content);
    old.dataset.sum = part.sum;
    $$('details', old).forEach(d => { if (open.includes(d.dataset.id || d.textContent.slice(0, 40))) d.open = true; });
    room(old);
    $$('.wide', old).forEach((w, i) => { if (scrolls[i]) settle(w, scrolls[i]); });
    if (focus) (find(focus, old) || $('#main')).focus({ preventScroll: true });
    grids(old); copies(old);
    if (asked) return;
    old.classList.remove('swapped'); void old.offsetWidth; old.classList.add('swapped');
    const title = $('h2', old); say((title ? title.textContent.trim() : part.id) + ' changed');
  }
  const reach = 'a[href],button,input,select,summary,[tabindex]';
  const place = (e, within) => ({ id: e.id, href: e.getAttribute('href'), text: e.textContent, at: $$(reach, within).indexOf(e) });
  const find = (p, within) => (p.id && document.getElementById(p.id)) ||
    $$(reach, within).find(e => p.href !== null && e.getAttribute('href') === p.href && e.textContent === p.text) ||
    $$(reach, within).find(e => p.href !== null && e.getAttribute('href') === p.href) || $$(reach, within)[p.at];

  function heard(kind, data) {
    if (kind === 'cut') return;
    alive = performance.now(); ended = '';
    if (kind === 'ended') { ended = data.why; tick(); return; }
    if (kind === 'alive') { live.dataset.stale = data.stale || ''; live.dataset.since = data.since || ''; if (data.mark && !still) document.documentElement.dataset.mark = data.mark; return; }
    if (data.at !== here()) return;
    if (kind === 'failed') { failed = alive; code = data.code; tick(); return; }
    if (still) waiting.set(data.part.id, data.part); else swap(data.part);
  }
  document.addEventListener('focusout', () => setTimeout(flush, 0));
  function flush() { if (still) return; const parts = [...waiting.values()]; waiting.clear(); parts.forEach(part => swap(part)); }

  // The line that says how old the page is: within two seconds of a cut stream it says so. What is there says so each second.
  function tick() {
    const quiet = (performance.now() - alive) / 1000, stale = $('#stale');
    let why = '';
    if (ended) why = ended + ': load the page again to come in';
    else if (quiet >= 1.75) why = 'Stale: nothing was heard of the hub for ' + Math.round(quiet) + ' s';
    else if (failed && performance.now() - failed < 2500) why = 'Stale: ' + (code === 404 ? 'what is shown here is gone' : 'this screen cannot be drawn now (' + code + ')');
    else if (live.dataset.stale) why = 'Stale' + (live.dataset.since ? ' since ' + live.dataset.since : '') + ': ' + live.dataset.stale;
    const word = why ? 'stale' : still ? 'paused' : 'live';
    if (live.textContent !== word) live.textContent = word;
    live.classList.toggle('bad', !!why);
    if (stale.hidden === !why && stale.textContent === why) return;
    const reason = text => text.replace(/\d+ s$/, ''); // how old it is is not read out each second
    stale.ariaLive = stale.hidden || reason(why) !== reason(stale.textContent) ? 'assertive' : 'off';
    stale.textContent = why; stale.hidden = !why;
  }
  if (document.documentElement.dataset.kept) setInterval(tick, 200);

  const sums = () => Object.fromEntries($$('main > section').map(part => [part.id, part.dataset.sum]));
  let port = null, source = null;
  function follow() {
    if (window.SharedWorker) {
      if (!port) {
        const worker = new SharedWorker('/static/worker.js', 'flotilla');
        port = worker.port;
        port.onmessage = e => heard(e.data.kind, e.data.data);
        port.start();
      }
      port.postMessage({ at: here(), have: sums(), anew: true });
      return;
    }
    if (source) source.close();
    source = document.hidden ? null : new EventSource('/stream?at=' + encodeURIComponent(here()) + Object.values(sums()).map(sum => '&have=' + sum).join(''));
    if (!source) return;
    for (const kind of ['part', 'alive', 'ended', 'failed']) source.addEventListener(kind, e => heard(kind, JSON.parse(e.data)));
    source.onerror = () => { if (source.readyState === 2) setTimeout(follow, 2000); };
  }
  if (!window.SharedWorker && document.documentElement.dataset.kept) document.addEventListener('visibilitychange', follow);
  addEventListener('pagehide', () => { if (port) port.postMessage({ bye: true }); });
  addEventListener('pageshow', e => { if (e.persisted) follow(); });
  if (document.documentElement.dataset.kept) { follow(); setInterval(() => { if (port) port.postMessage({ ping: true }); }, 10000); }

  // Buttons of the foot.
  const pause = $('#still');
  function setStill(on) { still = on; pause.setAttribute('aria-pressed', on); pause.textContent = on ? 'Go on' : 'Pause updates'; flush(); tick(); }
  pause.onclick = () => setStill(!still);
  const themes = ['system', 'light', 'dark'];
  function setTheme(t) { if (t === 'system') delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = t; $('#theme').textContent = 'Theme: ' + t; kept.set('theme', t); }
  setTheme(themes.includes(kept.get('theme')) ? kept.get('theme') : 'system');
  $('#theme').onclick = () => setTheme(themes[(themes.indexOf(kept.get('theme')) + 1) % 3]);
  $('#keys').onclick = () => $('#help').showModal();
  const keyed = $('#keyed'); keyed.checked = kept.get('keys') !== 'off';
  keyed.onchange = () => kept.set('keys', keyed.checked ? 'on' : 'off');

  function copies(in_ = document) {
    $$('[data-copy]', in_).forEach(b => { b.onclick = () => navigator.clipboard.writeText(b.dataset.copy).then(() => { b.textContent = 'Copied'; }, () => { b.textContent = 'Not copied'; }); });
  }
  copies();

  // A grid is one stop for Tab; arrows move within it.
  function grids(in_ = document) {
    $$('[data-grid]', in_).forEach(g => {
      g.setAttribute('role', 'grid');
      const cells = $$('a[href]', g);
      const on = Math.max(0, cells.indexOf(document.activeElement));
      cells.forEach((c, i) => { c.tabIndex = i === on ? 0 : -1; });
      g.onkeydown = e => {
        const cell = e.target.closest('a'), by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], j: [1, 0], k: [-1, 0] }[e.key];
        if (!cell || !by || e.ctrlKey || e.metaKey || e.altKey || !keyed.checked && /^[jk]$/.test(e.key)) return;
        const next = by[0] ? below(cell, by[0], g) : cells[cells.indexOf(cell) + by[1]];
        if (next) { cell.tabIndex = -1; next.tabIndex = 0; next.focus(); }
        e.preventDefault(); e.stopPropagation();
      };
    });
  }
  function below(cell, by, grid) {
    const rows = $$('tr', grid).filter(r => $('a[href]', r)), row = rows[rows.indexOf(cell.closest('tr')) + by];
    if (!row) return null;
    const column = cell.closest('td,th').cellIndex;
    return $$('a[href]', row).sort((a, b) => Math.abs(a.closest('td,th').cellIndex - column) - Math.abs(b.closest('td,th').cellIndex - column))[0];
  }
  grids();

  // Lists of which the server sends one window: there is room for the rows before and behind it, and the window and the URL
  // follow what is scrolled to.
  let moved = 0, moving = false;
  const high = list => Math.max(1, $('tbody tr', list)?.offsetHeight || 28);
  function room(in_) {
    $$('[data-total]', in_).forEach(list => {
      const { window: from, total } = list.dataset, rows = $$('tbody tr', list).length, table = $('table', list);
      table.style.marginTop = from * high(list) + 'px';
      table.style.marginBottom = Math.max(0, total - from - rows) * high(list) + 'px';
      list.onscroll = () => { clearTimeout(moved); moved = setTimeout(moveTo, 60, list); };
    });
  }
  async function moveTo(list) {
    const { window: from, size, total } = list.dataset, middle = (list.scrollTop + list.clientHeight / 2) / high(list);
    const to = Math.min(Math.max(0, total - size), Math.max(0, Math.round((middle - size / 2) / 10) * 10));
    if (moving || !list.isConnected) return;
    history.replaceState({ top: list.scrollTop }, '');
    if (to === +from) return;
    moving = true;
    try {
      const url = new URL(location.href);
      if (to) url.searchParams.set('from', to); else url.searchParams.delete('from');
      const answer = await fetch(url, { headers: { Accept: 'text/html' } });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      history.replaceState(history.state, '', url);
      $$('main > section', page).forEach(part => swap({ id: part.id, sum: part.dataset.sum, html: part.innerHTML }, true));
      clearTimeout(following); following = setTimeout(follow, 400);
    } finally { moving = false; }
    const now = $('[data-total]'); if (now) moveTo(now);
  }
  let following = 0;
  // What is looked at first within a box that scrolls, and where it stands there.
  const within = (row, box) => row.getBoundingClientRect().top - box.getBoundingClientRect().top;
  const anchor = box => {
    const row = box.dataset.total ? $$('tbody tr[id]', box).find(r => within(r, box) > 0) : null;
    return { x: box.scrollLeft, y: box.scrollTop, id: row && row.id, at: row && within(row, box) };
  };
  function settle(box, was) {
    box.scrollTo(was.x, was.y);
    const row = was.id && document.getElementById(was.id), by = row ? within(row, box) - was.at : 0;
    if (Math.abs(by) < 10 * high(box)) box.scrollTop += by;
  }
  room(document);
  $$('[data-total]').forEach(list => { list.scrollTop = history.state?.top ?? list.dataset.window * high(list); });

  let after = -Infinity; // when g was pressed
  document.addEventListener('keydown', e => {
    if (e.ctrlKey || e.metaKey || e.altKey || !keyed.checked || $('dialog[open]') || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
    const now = performance.now();
    if (now - after < 1500) {
      after = -Infinity;
      const to = $$('nav a[data-key]').find(a => a.dataset.key === e.key);
      if (to) { to.click(); e.preventDefault(); }
      return;
    }
    switch (e.key) {
      case 'g': after = now; return;
      case '/': $('#find').focus(); break;
      case '?': $('#help').showModal(); break;
      case 'p': setStill(!still); break;
      case 'u': { const up = $('a[data-up]') || $('nav a[aria-current]'); if (up) up.click(); break; }
      case 'j': case 'k': case 'ArrowDown': case 'ArrowUp': {
        const rows = $$('[data-list] a[data-row], [data-grid] tbody th a'); if (!rows.length) return;
        const by = e.key === 'j' || e.key === 'ArrowDown' ? 1 : -1, at = rows.indexOf(document.activeElement);
        if (at < 0 && e.key.startsWith('Arrow')) return;
        const next = rows[Math.min(rows.length - 1, Math.max(0, at + by))]; next.focus(); next.scrollIntoView({ block: 'nearest' }); break;
      }
      default: return;
    }
    e.preventDefault();
  });
})();
