// What lies where on a page, and what does not fit.
{
  const wide = () => document.documentElement.clientWidth;
  const shown = el => el.checkVisibility({visibilityProperty: true});

  // What an element's own text takes, which may be more than the element.
  const written = el => {
    const range = document.createRange();
    return [...el.childNodes].filter(n => n.nodeType === Node.TEXT_NODE && n.data.trim()).map(n => {
      range.selectNodeContents(n);
      return range.getBoundingClientRect();
    });
  };

  const right = el => Math.max(...[el.getBoundingClientRect(), ...written(el)].map(r => r.right)) + scrollX;

  // What lies to the right in something that scrolls or cuts is that one's affair.
  const contained = el => {
    for (let a = el.parentElement; a && a !== document.body; a = a.parentElement) if (getComputedStyle(a).overflowX !== 'visible') return true;
    return false;
  };

  const sticksOut = el => shown(el) && el.getBoundingClientRect().right > 0 && right(el) > wide() + 1 && !contained(el);

  rig.overflow = () => {
    const all = [...document.body.querySelectorAll('*')].filter(sticksOut);
    const culprits = all.filter(el => ![...el.children].some(child => all.includes(child)));
    const findings = culprits.map(el => rig.finding('overflow', el, `it ends at ${rig.px(right(el))}, expected at most ${rig.px(wide())}`));
    const total = document.documentElement.scrollWidth;
    if (findings.length === 0 && total > wide()) findings.push(rig.finding('overflow', document.documentElement, `the page is ${rig.px(total)} wide, expected ${rig.px(wide())}`));
    return findings;
  };

  // What holds more than it shows; nobody scrolls on paper.
  rig.cut = () => [...document.body.querySelectorAll('*')].filter(shown).flatMap(el => {
    const style = getComputedStyle(el), box = el.getBoundingClientRect();
    const x = style.overflowX !== 'visible' && el.scrollWidth > el.clientWidth + 1, y = style.overflowY !== 'visible' && el.scrollHeight > el.clientHeight + 1;
    if (!x && !y || box.width < 2 || box.height < 2 || style.display === 'inline') return [];
    return [rig.finding('cut', el, `it holds ${rig.px(el.scrollWidth)} by ${rig.px(el.scrollHeight)} and shows ${rig.px(el.clientWidth)} by ${rig.px(el.clientHeight)}`)];
  });

  const least = 24;

  // A link in a text is as tall as the text.
  const inText = el => {
    if (!(el instanceof HTMLElement) || !el.matches('a, [role=link]') || getComputedStyle(el).display !== 'inline') return false;
    let block = el.parentElement;
    while (getComputedStyle(block).display === 'inline') block = block.parentElement;
    const around = block.cloneNode(true);
    around.querySelectorAll('a, [role=link], button').forEach(other => other.remove());
    return /[\p{L}\p{N}]/u.test(around.textContent);
  };

  rig.targets = () => rig.interactive().filter(el => rig.composite(el) !== el || el.localName === 'input').flatMap(el => {
    const r = rig.region(el);
    if (r.width > least - .05 && r.height > least - .05 || inText(el)) return [];
    return [rig.finding('target-size', el, `it is ${rig.px(r.width)} by ${rig.px(r.height)}, expected at least ${least} by ${least}`)];
  });

  rig.boxes = selector => [...document.querySelectorAll(selector)].filter(shown).map(el => rig.box(el.getBoundingClientRect()));

  // When something was first painted, in ms after the page was asked for.
  rig.painted = async () => {
    for (;;) {
      const [paint] = performance.getEntriesByName('first-contentful-paint');
      if (paint) return paint.startTime;
      await new Promise(requestAnimationFrame);
    }
  };
}
