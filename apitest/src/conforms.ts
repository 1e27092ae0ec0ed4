// Compares answers with the schemas that describe them: types, required fields, null, enums, and
// fields that no schema has.
import type { Middleware } from "openapi-fetch";

type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  anyOf?: Schema[];
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: boolean | Schema;
};
type Operation = { responses: Record<string, { content?: Record<string, { schema?: Schema }> }> };
type Document = { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, Schema> } };

// check compares each JSON answer with its description, and throws an error if they differ.
export function check(address: string): NonNullable<Middleware["onResponse"]> {
  let fetched: Promise<Document> | undefined;
  return async ({ request, response, schemaPath }) => {
    fetched ??= fetch(`${address}/openapi.json`).then((r) => r.json() as Promise<Document>);
    const document = await fetched;
    const method = request.method.toLowerCase();
    const described = document.paths[schemaPath]?.[method]?.responses[String(response.status)]?.content?.["application/json"]?.schema;
    const where = `${method} ${schemaPath} ${response.status}`;
    if (!described) throw new Error(`${where}: is not described`);
    const wrong = [...differences(document, where, described, await response.clone().json())];
    if (wrong.length > 0) throw new Error([...new Set(wrong)].join("\n"));
  };
}

function* differences(d: Document, at: string, given: Schema, value: unknown): Generator<string> {
  const schema = resolve(d, given);
  if (schema.anyOf) {
    const tries = schema.anyOf.map((s) => [...differences(d, at, s, value)]);
    if (!tries.some((t) => t.length === 0)) yield* tries[0] ?? [];
    return;
  }
  const types = [schema.type ?? []].flat();
  if (types.length > 0 && !types.some((type) => isOf(type, value))) yield `${at}: ${JSON.stringify(value)} is not ${types.join(" or ")}`;
  else if (schema.enum && !schema.enum.includes(value)) yield `${at}: ${JSON.stringify(value)} is none of ${schema.enum.join(", ")}`;
  else if (Array.isArray(value)) for (const item of value) yield* differences(d, `${at}[]`, schema.items ?? {}, item);
  else if (value !== null && typeof value === "object") yield* fields(d, at, schema, value as Record<string, unknown>);
}

// A client must accept fields that no schema has, but every field of today's answers must be
// described.
function* fields(d: Document, at: string, schema: Schema, value: Record<string, unknown>): Generator<string> {
  for (const name of schema.required ?? []) if (!(name in value)) yield `${at}: has no ${name}`;
  const others = schema.additionalProperties;
  for (const [name, item] of Object.entries(value)) {
    const field = schema.properties?.[name] ?? (typeof others === "object" ? others : undefined);
    if (field) yield* differences(d, `${at}.${name}`, field, item);
    else if (schema.properties) yield `${at}: ${name} is not described`;
  }
}

function resolve(d: Document, schema: Schema): Schema {
  if (!schema.$ref) return schema;
  const found = d.components.schemas[schema.$ref.slice("#/components/schemas/".length)];
  if (!found) throw new Error(`${schema.$ref} leads nowhere`);
  return found;
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case "null": return value === null;
    case "array": return Array.isArray(value);
    case "object": return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer": return Number.isInteger(value);
    default: return typeof value === type;
  }
}
