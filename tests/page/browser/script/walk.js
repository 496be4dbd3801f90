// What a walk by keyboard asks of the page.
{
  const numbers = new Map(), elements = [];

  // The same number for an element whenever it is asked for.
  const number = el => {
    if (!el) return -1;
    if (!numbers.has(el)) numbers.set(el, elements.push(el) - 1);
    return numbers.get(el);
  };

  const holder = () => {
    const el = document.activeElement;
    return !el || el === document.documentElement || (el === document.body && el.tabIndex < 0) ? null : el;
  };

  // At the end of the page, from which the next Tab goes to its top, at once or by way of the window: Tab goes on from where an element was that had the focus and is gone.
  rig.begin = () => {
    const mark = document.createElement('span');
    mark.tabIndex = -1;
    rig.front().append(mark);
    mark.focus();
    mark.remove();
  };

  const fields = 'input[type=date], input[type=datetime-local], input[type=month], input[type=time], input[type=week], audio, video';

  rig.focused = () => {
    const el = holder();
    if (!el) return null;
    // What a change of style takes its time for is there at once.
    document.getAnimations().filter(a => a instanceof CSSTransition).forEach(a => a.finish());
    const rects = [...el.getClientRects()].map(rect => place(el, rect));
    const composite = rig.composite(el);
    return {
      Number: number(el), Kind: [el, ...ancestors(el)].map(kind).join(' '), Target: rig.path(el), HTML: rig.head(el), Box: rig.box(rig.region(el)), Hidden: hidden(el),
      First: rects[0], Last: rects.at(-1), Floating: floating(el), Order: el.tabIndex, Fields: el.matches(fields),
      Composite: number(composite), Role: composite?.getAttribute('role') ?? '', Items: composite ? items(composite) : 0,
      Place: number(document.getElementById(el.getAttribute('aria-activedescendant')) ?? el),
    };
  };

  const items = composite => [...composite.querySelectorAll('[tabindex], [role=gridcell], [role=option]')].filter(rig.usable).length ||
    rig.interactive().filter(el => el !== composite && composite.contains(el)).length;

  // Why what has focus cannot be seen; empty where it can.
  const hidden = el => {
    const r = rig.region(el);
    if (r.width < 2 || r.height < 2) return `is ${rig.px(r.width)} by ${rig.px(r.height)}`;
    const left = Math.max(r.left, 0), right = Math.min(r.right, innerWidth), top = Math.max(r.top, 0), bottom = Math.min(r.bottom, innerHeight);
    if (right - left < 1 || bottom - top < 1) return `lies outside of the window, at ${rig.px(r.left)}, ${rig.px(r.top)}`;
    const over = [.1, .5, .9].flatMap(x => [.1, .5, .9].map(y => document.elementFromPoint(left + x * (right - left), top + y * (bottom - top))));
    const own = hit => !hit || el.contains(hit) || hit.contains(el) || [...(el.labels ?? [])].some(label => label.contains(hit));
    return over.some(own) ? '' : `is covered by ${rig.path(over[4])}`;
  };

  const ancestors = el => el.parentElement ? [el.parentElement, ...ancestors(el.parentElement)] : [];

  // What styles go by, but for ids and states.
  const kind = el => [el.localName, ...['class', 'role', 'type', 'fill', 'stroke'].map(name => el.getAttribute(name) ?? '')].join('|');

  // Where it lies on the page, wherever it and what it lies in are scrolled to.
  const place = (el, rect) => {
    const box = rig.box(rect);
    for (const a of ancestors(el)) {
      if (a === document.scrollingElement) continue;
      box.X += a.scrollLeft;
      box.Y += a.scrollTop;
    }
    return box;
  };

  const floating = el => [el, ...ancestors(el)].some(a => ['fixed', 'sticky'].includes(getComputedStyle(a).position));

  rig.holder = () => holder();
  rig.blur = () => { const el = holder(); el.blur(); return number(el); };
  rig.focus = n => { elements[n].focus({preventScroll: true, focusVisible: true}); };

  // What a person works with, and the walk did not come to.
  rig.unreached = reached => {
    const had = new Set(reached.map(n => elements[n]));
    const composites = new Set([...had].map(rig.composite));
    return rig.interactive().filter(el => !had.has(el) && !composites.has(rig.composite(el) ?? el)).map(el =>
      rig.finding('focus-unreached', el, el.tabIndex < 0 ? `Tab does not come to it: its tabindex is ${el.tabIndex}` : 'Tab does not come to it'));
  };
}

// The part of a box and of what is drawn around it that the window shows.
rig.visible = box => {
  const around = 8;
  const left = Math.max(box.X - around, scrollX), top = Math.max(box.Y - around, scrollY);
  return {X: left, Y: top, W: Math.min(box.X + box.W + around, scrollX + innerWidth) - left, H: Math.min(box.Y + box.H + around, scrollY + innerHeight) - top};
};
