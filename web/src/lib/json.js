// problems says why a text is no JSON object, as Editor.svelte takes it: [{line, column, message}].
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

// parsed is the object or list that a text holds, or undefined where it is a text like any other.
export function parsed(text) {
  if (!/^\s*[[{]/.test(text ?? '')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// height is how high an editor is that shows a text without scrolling, within bounds.
export const height = (text) => `${Math.min(Math.max(text.split('\n').length * 20 + 30, 110), 420)}px`;
