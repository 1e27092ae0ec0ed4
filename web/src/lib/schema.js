// What a form needs to know about a JSON Schema.

// resolve follows references inside the schema itself.
export function resolve(schema, root, depth = 0) {
  if (schema === true || schema === undefined || schema === null) return {};
  const reference = schema.$ref;
  if (!reference || !reference.startsWith('#/') || depth > 8) return schema;
  let target = root;
  for (const part of reference.slice(2).split('/')) target = target?.[part.replace(/~1/g, '/').replace(/~0/g, '~')];
  return { ...resolve(target, root, depth + 1), ...schema, $ref: undefined };
}

// control says which control fits a value: 'enum', 'boolean', 'integer', 'number', 'multiline', 'text', 'secret',
// 'list', 'object' or 'json'.
export function control(schema) {
  if (Array.isArray(schema.enum)) return 'enum';
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type;
  if (type === 'string') return text(schema);
  if (type === 'boolean' || type === 'integer' || type === 'number') return type;
  if (type === 'array' && ['string', undefined].includes(schema.items?.type) && schema.items?.type) return 'list';
  if (type === 'object' && schema.properties) return 'object';
  return 'json';
}

function text(schema) {
  if (schema.writeOnly || schema.format === 'password') return 'secret';
  return schema.format === 'multiline' || schema.contentMediaType || (schema.maxLength ?? 0) > 200 ? 'multiline' : 'text';
}

// sample returns a value for a schema: its default, its first example, or else the smallest value of its type.
export function sample(schema, root = schema, depth = 0) {
  const one = resolve(schema, root);
  if (one.default !== undefined) return one.default;
  if (one.const !== undefined) return one.const;
  if (one.examples?.length) return one.examples[0];
  if (one.enum?.length) return one.enum[0];
  const type = Array.isArray(one.type) ? one.type[0] : one.type;
  if (type === 'string') return '';
  if (type === 'boolean') return false;
  if (type === 'integer' || type === 'number') return one.minimum ?? 0;
  if (type === 'array') return [];
  if (type === 'object' || one.properties) {
    if (depth > 6) return {};
    return Object.fromEntries((one.required ?? []).map((key) => [key, sample(one.properties?.[key] ?? {}, root, depth + 1)]));
  }
  return null;
}
