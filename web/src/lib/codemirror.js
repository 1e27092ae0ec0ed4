// The editor, in its own chunk: components/Editor.svelte loads it when the first editor is shown.
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

import { json, python } from './languages.js';

const look = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'transparent', fontSize: '12.5px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--muted)', border: 'none', borderRight: '1px solid var(--line)' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in oklab, var(--hover) 60%, transparent)' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': { backgroundColor: 'var(--accent-soft)' },
  '.cm-matchingBracket': { backgroundColor: 'var(--accent-soft)' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', border: '1px solid var(--line-strong)', color: 'var(--text)' },
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.controlKeyword, tags.operatorKeyword, tags.definitionKeyword, tags.moduleKeyword], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string), tags.escape], color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null, tags.self], color: 'var(--warn)' },
  { tag: [tags.comment, tags.meta], color: 'var(--muted)', fontStyle: 'italic' },
  { tag: [tags.propertyName], color: 'var(--accent)' },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className), tags.className], fontWeight: '600' },
  { tag: tags.invalid, color: 'var(--bad)' },
]);

// When coloured text is selected and typed over, Chromium wraps the new text in an element with the old colour as an
// inline style, which the Content-Security-Policy forbids. So this handler inserts the text itself.
const typedOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    if (event.inputType !== 'insertText' || event.data === null || view.composing || view.state.readOnly || view.state.selection.main.empty) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

const languages = { json: () => [json, indentUnit.of('  ')], python: () => [python, indentUnit.of('    ')], text: () => [] };

// create makes an editor in a shadow root and returns {setText, setProblems, setReadonly, focus, destroy}.
export function create({ root, text, language, label, readonly, onChange, onSave }) {
  const readonlyPart = new Compartment();
  const readonlyAs = (yes) => [EditorState.readOnly.of(yes)];
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        highlightSpecialChars(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        syntaxHighlighting(colours),
        lintGutter(),
        keymap.of([{ key: 'Mod-s', run: () => (onSave(), true), preventDefault: true }, ...defaultKeymap, ...historyKeymap, indentWithTab]),
        languages[language](),
        look,
        typedOver,
        readonlyPart.of(readonlyAs(readonly)),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': label }),
        EditorView.updateListener.of((update) => update.docChanged && onChange(update.state.doc.toString())),
      ],
    }),
  });
  return {
    setText(next) {
      const now = view.state.doc.toString();
      if (next !== now) view.dispatch({ changes: { from: 0, to: now.length, insert: next ?? '' } });
    },
    setProblems(problems) {
      view.dispatch(setDiagnostics(view.state, problems.map((problem) => diagnostic(view.state.doc, problem))));
    },
    setReadonly(yes) {
      view.dispatch({ effects: readonlyPart.reconfigure(readonlyAs(yes)) });
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}

function diagnostic(doc, { line = 1, column = 1, message }) {
  const at = doc.line(Math.max(1, Math.min(line, doc.lines)));
  const from = Math.min(at.from + Math.max(0, column - 1), at.to);
  return { from, to: at.to > from ? at.to : from, severity: 'error', message };
}
