// The page as text, a tag a line.
{
  const empty = new Set(['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'source', 'track', 'wbr']);
  const escape = text => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
  const attribute = a => a.value === '' ? a.name : `${a.name}="${escape(a.value).replace(/"/g, '&quot;')}"`;
  const tag = el => `<${[el.localName, ...[...el.attributes].map(attribute)].join(' ')}>`;

  const lines = (node, depth) => {
    const indent = '\t'.repeat(depth);
    if (node.nodeType === Node.TEXT_NODE) {
      const text = node.data.trim().replace(/\s+/g, ' ');
      return text ? [indent + escape(text)] : [];
    }
    if (node.nodeType !== Node.ELEMENT_NODE) return [];
    if (empty.has(node.localName)) return [indent + tag(node)];
    const within = [...node.childNodes].flatMap(child => lines(child, depth + 1));
    if (within.length === 0) return [`${indent}${tag(node)}</${node.localName}>`];
    if (within.length === 1 && node.children.length === 0) return [`${indent}${tag(node)}${within[0].trim()}</${node.localName}>`];
    return [indent + tag(node), ...within, `${indent}</${node.localName}>`];
  };

  rig.html = () => lines(document.documentElement, 0).join('\n') + '\n';
}
