'use strict';
// One stream for all tabs of a browser: it follows what they show, and is opened anew when that changes.
const tabs = new Map(); // port -> {at, have, heard}
let source = null, shown = '', opening = 0, open_ = new Set();

function open() {
  opening = 0;
  for (const [port, tab] of tabs) if (Date.now() - tab.heard > 150000) tabs.delete(port);
  const ats = [...new Set([...tabs.values()].filter(t => t.at).map(t => t.at))].slice(-16).sort();
  open_ = new Set(ats);
  const have = [...new Set([...tabs.values()].flatMap(t => Object.values(t.have || {})))].slice(0, 100);
  const url = ats.length ? '/stream?' + [...ats.map(at => 'at=' + encodeURIComponent(at)), ...have.map(sum => 'have=' + sum)].join('&') : '';
  if (url === shown && source && source.readyState !== 2) return;
  if (source) source.close();
  source = null; shown = url;
  if (!url) return;
  source = new EventSource(url);
  for (const kind of ['part', 'alive', 'ended', 'failed']) source.addEventListener(kind, e => tell(kind, e.data));
  source.onerror = () => { tell('cut', 'null'); if (source && source.readyState === 2) { shown = ''; later(2000); } };
}

function later(ms) { if (!opening) opening = setTimeout(open, ms); }

function tell(kind, text) {
  const data = JSON.parse(text);
  for (const [port, tab] of tabs) {
    if ((kind === 'part' || kind === 'failed') && data.at !== tab.at || !open_.has(tab.at)) continue;
    if (kind === 'part' && tab.have) tab.have[data.part.id] = data.part.sum;
    port.postMessage({kind, data});
  }
}

onconnect = e => {
  const port = e.ports[0];
  tabs.set(port, {heard: Date.now()});
  port.onmessage = m => {
    const tab = tabs.get(port) || {};
    if (m.data.ping && tab.at) { tab.heard = Date.now(); return; }
    tabs.delete(port);
    if (m.data.at) tabs.set(port, {at: m.data.at, have: m.data.have, heard: Date.now()});
    if (m.data.anew) shown = '';
    later(50);
  };
};
