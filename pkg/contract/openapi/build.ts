import type { Schema } from './types.ts';

/** A schema that stands under `components.schemas`. */
export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * An object of a response: every property is always there, but those named in `optional`. It is left open, because a
 * client must go on working when a field is added; the tests close it, so that nothing undocumented is sent.
 */
export function object(properties: Record<string, Schema>, optional: readonly string[] = []): Schema {
  return { type: 'object', properties, required: Object.keys(properties).filter((name) => !optional.includes(name)) };
}

/** An object of a request: unknown fields are refused (spec 2.2). */
export function closedObject(properties: Record<string, Schema>, required: readonly string[] = []): Schema {
  return { type: 'object', properties, required, additionalProperties: false };
}

export function list(items: Schema, limits: Pick<Schema, 'minItems' | 'maxItems' | 'description'> = {}): Schema {
  return { type: 'array', items, ...limits };
}

export function oneOfWords(words: readonly string[], description?: string): Schema {
  return { type: 'string', enum: words, ...(description === undefined ? {} : { description }) };
}

export function text(description: string): Schema {
  return { type: 'string', description };
}

export function textOrNull(description: string): Schema {
  return { type: ['string', 'null'], description };
}

export function count(description: string): Schema {
  return { type: 'integer', minimum: 0, description };
}

export function flag(description: string): Schema {
  return { type: 'boolean', description };
}

export function moment(description: string): Schema {
  return { type: 'string', format: 'date-time', description };
}

export function momentOrNull(description: string): Schema {
  return { type: ['string', 'null'], format: 'date-time', description };
}
