// What the tools share. It lives in a world of its own beside the page's scripts.
"use strict";
globalThis.rig = {};

// Where scripts are switched off, timers do not run in any world; frames and messages do in this one.
{
  const waiting = new Set();
  let last = 0;
  globalThis.setTimeout = (work, delay = 0, ...args) => {
    const id = ++last, due = performance.now() + delay, channel = new MessageChannel();
    waiting.add(id);
    const look = () => {
      if (!waiting.has(id)) return;
      if (performance.now() < due) return requestAnimationFrame(look);
      waiting.delete(id);
      work(...args);
    };
    channel.port1.onmessage = () => { channel.port1.close(); look(); };
    channel.port2.postMessage(null);
    return id;
  };
  globalThis.clearTimeout = id => waiting.delete(id);
}

// Pictures are without the caret, which blinks.
rig.still = () => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('* { caret-color: transparent !important }');
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  rig.still = () => {};
};

{
  const native = 'a[href], area[href], button, input:not([type=hidden]), select, textarea, summary, audio[controls], video[controls], ' +
    '[contenteditable]:not([contenteditable=false])';
  const roles = ['button', 'checkbox', 'combobox', 'link', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'option', 'radio', 'searchbox',
    'slider', 'spinbutton', 'switch', 'tab', 'textbox', 'treeitem'].map(role => `[role=${role}]`).join(', ');
  const composites = ['grid', 'listbox', 'menu', 'menubar', 'radiogroup', 'tablist', 'toolbar', 'tree', 'treegrid'].map(role => `[role=${role}]`).join(', ');

  const step = el => {
    const alike = el.parentElement ? [...el.parentElement.children].filter(c => c.localName === el.localName) : [el];
    return el.localName + (alike.length > 1 ? `:nth-of-type(${alike.indexOf(el) + 1})` : '');
  };

  // A selector that leads to an element, from the nearest id.
  rig.path = el => {
    const steps = [];
    for (; el && el !== document.documentElement; el = el.parentElement) {
      if (el.id) { steps.unshift('#' + CSS.escape(el.id)); break; }
      steps.unshift(step(el));
    }
    return steps.join(' > ') || 'html';
  };

  rig.head = el => {
    const tag = el.cloneNode(false).outerHTML.replace(/<\/[^>]*>$/, '').slice(0, 200);
    const text = el.textContent.trim().replace(/\s+/g, ' ');
    return tag + (text.length > 60 ? text.slice(0, 60) + '…' : text);
  };

  rig.finding = (rule, el, why) => ({Rule: rule, Target: rig.path(el), HTML: rig.head(el), Why: why});

  rig.box = rect => ({X: rect.left + scrollX, Y: rect.top + scrollY, W: rect.width, H: rect.height});

  // Where an element is worked with and its focus is seen: at its labels too, which stand for boxes that styles draw.
  rig.region = el => {
    const rects = [el, ...(el.labels ?? [])].map(e => e.getBoundingClientRect());
    const left = Math.min(...rects.map(r => r.left)), top = Math.min(...rects.map(r => r.top));
    return new DOMRect(left, top, Math.max(...rects.map(r => r.right)) - left, Math.max(...rects.map(r => r.bottom)) - top);
  };

  rig.px = n => `${Math.round(n * 10) / 10} px`;

  // Shown, and neither disabled nor inert, nor under a dialog that is in front of all else.
  rig.usable = el => el.checkVisibility({visibilityProperty: true}) && !el.matches(':disabled') && !el.closest('[inert]') && rig.front().contains(el) &&
    (el.localName !== 'summary' || el.parentElement.querySelector(':scope > summary') === el);

  rig.front = () => [...document.querySelectorAll(':modal')].at(-1) ?? document.body;

  // What a person works with. Places that only scripts focus, such as a heading with tabindex=-1, are none.
  rig.interactive = () => [...document.querySelectorAll(`${native}, ${roles}, [tabindex]`)].filter(el =>
    rig.usable(el) && (el.matches(`${native}, ${roles}`) || el.tabIndex >= 0 || (rig.composite(el) ?? el) !== el));

  // What has one tab stop for all that is in it, and arrows that move within.
  rig.composite = el => el.closest(composites) ?? radios(el);

  // Radio buttons of a name are one, which their first stands for.
  const radios = el => el.matches('input[type=radio][name]') ?
    [...document.querySelectorAll(`input[type=radio][name="${CSS.escape(el.name)}"]`)].find(other => other.form === el.form) : null;
}
