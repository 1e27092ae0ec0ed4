// problems says why a text is not a JSON object, in the form of Editor.svelte: [{line, column, message}].
export function problems(source) {
  try {
    const value = JSON.parse(source);
    if (value && typeof value === 'object' && !Array.isArray(value)) return [];
    return [{ line: 1, column: 1, message: 'This must be an object: { … }' }];
  } catch (problem) {
    const place = /line (\d+) column (\d+)/.exec(problem.message);
    return [{ line: Number(place?.[1] ?? 1), column: Number(place?.[2] ?? 1), message: `This is not JSON: ${problem.message}` }];
  }
}

export const pretty = (value) => JSON.stringify(value ?? {}, null, 2);

// parsed returns the object or list in a text, or undefined if the text is not JSON of that kind.
export function parsed(text) {
  if (!/^\s*[[{]/.test(text ?? '')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// height returns the height of an editor that shows a text without scrolling, within limits.
export const height = (text) => `${Math.min(Math.max(text.split('\n').length * 20 + 30, 110), 420)}px`;
