// Functions for the page of python plugins.

export const nameFits = (name) => /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/.test(name);

export const template = (name) => `"""What this plugin does, in a line."""

__plugin__ = {"api": "1.0", "name": "${name}"}


@on_final
async def sign(ctx, text):
    # Called with what the model answers. Return the new text, or None to leave it.
    return text + "\\n\\n-- ${name}"
`;

// placeOf finds the place that an error names: [{line, column, message}], or an empty list.
export function placeOf(message) {
  const place = /\(line (\d+)(?:, column (\d+))?\)/.exec(message);
  return place ? [{ line: Number(place[1]), column: Number(place[2] ?? 1), message: message.replace(/^Invalid plugin code: /, '') }] : [];
}
