// Parses the text of a model for display: code in fences, and within a paragraph code, bold words and plain ones.
// Nothing in it becomes HTML: pages put the parts into their own elements.

// blocks: [{kind: 'code', language, text} | {kind: 'text', parts: [{kind: 'plain' | 'code' | 'bold', text}]}]. A fence
// that is not closed yet, because the text is still arriving, is code already.
export function blocks(text) {
  const out = [];
  let plain = [];
  let code = null;
  const flush = () => {
    const paragraph = plain.join('\n').replace(/^\n+|\n+$/g, '');
    if (paragraph) out.push({ kind: 'text', parts: parts(paragraph) });
    plain = [];
  };
  for (const line of text.split('\n')) {
    const fence = /^\s*(```+|~~~+)\s*([\w+-]*)/.exec(line);
    if (code && fence && line.trim().startsWith(code.fence) && !fence[2]) {
      out.push({ kind: 'code', language: code.language, text: code.lines.join('\n') });
      code = null;
    } else if (code) {
      code.lines.push(line);
    } else if (fence) {
      flush();
      code = { fence: fence[1], language: fence[2], lines: [] };
    } else {
      plain.push(line);
    }
  }
  if (code) out.push({ kind: 'code', language: code.language, text: code.lines.join('\n') });
  flush();
  return out;
}

export function parts(text) {
  return text
    .split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/)
    .filter(Boolean)
    .map((part) => {
      if (part.length > 2 && part.startsWith('`') && part.endsWith('`')) return { kind: 'code', text: part.slice(1, -1) };
      if (part.length > 4 && part.startsWith('**') && part.endsWith('**')) return { kind: 'bold', text: part.slice(2, -2) };
      return { kind: 'plain', text: part };
    });
}
