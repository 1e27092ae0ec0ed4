// The colours of JSON and Python, by rules for one line after the other. CodeMirror's grammars for them are several
// times larger, and can do more than an editor of short texts needs.
import { StreamLanguage } from '@codemirror/language';

const jsonRules = [
  [/^"(?:[^"\\]|\\.)*"(?=\s*:)/, 'propertyName'],
  [/^"(?:[^"\\]|\\.)*"/, 'string'],
  [/^"(?:[^"\\]|\\.)*$/, 'invalid'], // a text that does not end
  [/^-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/, 'number'],
  [/^(?:true|false)\b/, 'bool'],
  [/^null\b/, 'null'],
];

const pythonRules = [
  [/^#.*/, 'comment'],
  [/^@[\w.]*/, 'meta'],
  [/^(?:\d[\d_]*\.?[\d_]*(?:[eE][-+]?\d+)?|0[xXoObB][\da-fA-F_]+)j?/, 'number'],
  [/^(?:True|False)\b/, 'bool'],
  [/^None\b/, 'null'],
  [/^(?:self|cls)\b/, 'self'],
  [
    /^(?:and|as|assert|async|await|break|case|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|match|nonlocal|not|or|pass|raise|return|try|while|with|yield)\b/,
    'keyword',
  ],
];

// take reads one piece of a line by the first rule that matches.
function take(stream, rules) {
  for (const [pattern, tag] of rules) if (stream.match(pattern)) return tag;
  if (!stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u)) stream.next();
  return null;
}

export const json = StreamLanguage.define({
  name: 'json',
  token: (stream) => (stream.eatSpace() ? null : take(stream, jsonRules)),
});

// A Python string may begin with letters such as rf. One in three quotes continues over several lines: the state knows
// where it ends.
const opening = /^[rRbBuUfFtT]{0,2}("""|'''|"|')/;

function inText(stream, state) {
  const { quote } = state;
  while (!stream.eol()) {
    if (stream.match(quote)) {
      state.quote = null;
      return 'string';
    }
    if (stream.next() === '\\') stream.next();
  }
  if (quote.length === 1) state.quote = null; // it ends with its line
  return 'string';
}

export const python = StreamLanguage.define({
  name: 'python',
  startState: () => ({ quote: null, names: false }),
  copyState: (state) => ({ ...state }),
  token(stream, state) {
    if (state.quote) return inText(stream, state);
    if (stream.eatSpace()) return null;
    const text = stream.match(opening);
    if (text) {
      state.quote = text[1];
      return inText(stream, state);
    }
    if (state.names && stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u)) {
      state.names = false;
      return 'className'; // the name behind def or class
    }
    state.names = /^(?:def|class)\b/.test(stream.string.slice(stream.pos));
    return take(stream, pythonRules);
  },
  // A line after a colon is indented further; any other line has the indentation of the line before it.
  indent(state, textAfter, context) {
    if (state.quote) return null;
    const before = context.lineAt(context.pos, -1);
    const column = context.lineIndent(before.from, -1);
    return /:\s*(?:#.*)?$/.test(before.text) && textAfter.trim() === '' ? column + context.unit : null;
  },
  languageData: { commentTokens: { line: '#' } },
});
