import * as yup from 'yup';
import { findSelectorFault, splitFrames } from './selector.ts';
import { findUnknownPlaceholders, PLACEHOLDERS } from './template.ts';

/** JSON Schema of the draft that editors and Kubernetes know. */
export type JsonSchema = { [key: string]: unknown };

/** One rule said twice from one place: for the parser, and as JSON Schema for editors and other tools. */
export type Rule = { yup: yup.Schema | yup.Lazy<unknown>; json: JsonSchema };
export type Fields = Record<string, Rule>;

const MAX_WAIT_MS = 600_000;
const PLACEHOLDER_NAMES = PLACEHOLDERS.join('|');

/** An object that refuses keys it does not know: a misspelt rule would otherwise silently not apply. */
export function object(needed: Fields, optional: Fields = {}): { yup: yup.AnyObjectSchema; json: JsonSchema } {
  const names = Object.keys({ ...needed, ...optional });
  const schemas = Object.entries(needed).map(([name, rule]) => [name, demand(rule.yup)] as const);
  const others = Object.entries(optional).map(([name, rule]) => [name, rule.yup] as const);
  return {
    yup: yup
      .object(Object.fromEntries([...schemas, ...others]))
      .strict()
      .default(undefined)
      .typeError('must be an object')
      .noUnknown(
        ({ unknown }: { unknown?: string }) => `has unknown keys: ${unknown ?? ''} (allowed: ${names.join(', ')})`,
      ),
    json: {
      type: 'object',
      properties: mapJson({ ...needed, ...optional }),
      ...(Object.keys(needed).length === 0 ? {} : { required: Object.keys(needed) }),
      additionalProperties: false,
    },
  };
}

/** Not yup's own `required`, which takes an empty text for a missing one. */
function demand(schema: Rule['yup']): Rule['yup'] {
  if (!(schema instanceof yup.Schema)) return schema;
  const missing = 'is required';
  return schema.test('needed', missing, (value: unknown) => value !== undefined && value !== null);
}

function mapJson(fields: Fields): JsonSchema {
  return Object.fromEntries(Object.entries(fields).map(([name, { json }]) => [name, json]));
}

function textSchema(): yup.StringSchema {
  return yup.string().strict().typeError('must be a text').min(1, 'must not be empty');
}

export const text: Rule = { yup: textSchema(), json: { type: 'string', minLength: 1 } };
export const anyText: Rule = {
  yup: yup.string().strict().typeError('must be a text').defined('is required'),
  json: { type: 'string' },
};
export const flag: Rule = {
  yup: yup.boolean().strict().typeError('must be true or false'),
  json: { type: 'boolean' },
};
export const millis: Rule = {
  yup: yup
    .number()
    .strict()
    .typeError('must be a number of milliseconds')
    .integer('must be a whole number')
    .min(0, 'must not be negative')
    .max(MAX_WAIT_MS, `must be at most ${MAX_WAIT_MS}`),
  json: { type: 'integer', minimum: 0, maximum: MAX_WAIT_MS },
};
export const httpStatus: Rule = {
  yup: yup.number().strict().integer().min(100).max(599).required(),
  json: { type: 'integer', minimum: 100, maximum: 599 },
};

export function oneOf(values: readonly string[]): Rule {
  return {
    yup: textSchema().oneOf(values, `must be one of: ${values.join(', ')}`),
    json: { type: 'string', enum: [...values] },
  };
}

export function matching(pattern: RegExp, message: string): Rule {
  return { yup: textSchema().matches(pattern, message), json: { type: 'string', pattern: pattern.source } };
}

/** A text of which `find` says what is wrong; the JSON Schema can not say it. */
export function checked(rule: Rule, find: (value: string) => string | null): Rule {
  if (!(rule.yup instanceof yup.Schema)) return rule;
  const schema = rule.yup.test('fault', (value: unknown, context) => {
    const fault = typeof value === 'string' && value !== '' ? find(value) : null;
    return fault === null || context.createError({ message: fault });
  });
  return { ...rule, yup: schema };
}

export function listOf(item: Rule): Rule {
  return {
    yup: yup.array().of(item.yup).strict().typeError('must be a list'),
    json: { type: 'array', items: item.json },
  };
}

/** Also says what no single key says. The JSON Schema is only added to: what it can't say, the parser alone checks. */
export function also<R extends Rule>(
  rule: R,
  message: string,
  holds: (value: unknown) => boolean,
  json: JsonSchema = {},
): R {
  if (!(rule.yup instanceof yup.Schema)) return rule;
  const tested = rule.yup.test('also', message, (value: unknown) => value === undefined || holds(value));
  return { ...rule, yup: tested, json: { ...rule.json, ...json } };
}

function selectorSchema(mayLeaveFrame: boolean): Rule {
  const checked = textSchema().test('selector', (value, context) => {
    if (value === undefined || value === '') return true;
    const fault = findSelectorFault(value);
    if (fault !== null) return context.createError({ message: `is no selector: ${fault}` });
    return (
      mayLeaveFrame ||
      splitFrames(value).frames.length === 0 ||
      context.createError({ message: 'is looked for inside its item, so it can not lead into a frame (">>>")' })
    );
  });
  return { yup: checked, json: { type: 'string', minLength: 1, format: 'selector' } };
}

/** A selector in the page, in whatever frame. */
export const selector = selectorSchema(true);
/** A selector for what stands inside a node that another one has found. */
export const insideSelector = selectorSchema(false);

function templateSchema(): yup.StringSchema {
  return textSchema().test('placeholders', (value, context) => {
    const unknown = findUnknownPlaceholders(value ?? '');
    return (
      unknown.length === 0 ||
      context.createError({
        message: `has unknown placeholders: ${unknown.join(', ')} (known: ${PLACEHOLDERS.join(', ')})`,
      })
    );
  });
}

const TEMPLATE_PATTERN = `^(?:[^{]|\\{(?:${PLACEHOLDER_NAMES})\\}|\\{(?!\\w+\\}))*$`;

export const template: Rule = {
  yup: templateSchema(),
  json: { type: 'string', minLength: 1, pattern: TEMPLATE_PATTERN },
};
export const urlTemplate: Rule = {
  yup: templateSchema().test('url', 'must be an http or https URL', (value) => {
    if (value === undefined) return true;
    const example = value.replace(/\{\w+\}/g, 'x');
    return URL.canParse(example) && /^https?:$/.test(new URL(example).protocol);
  }),
  json: { allOf: [{ type: 'string', pattern: '^https?://[^/]' }, { pattern: TEMPLATE_PATTERN }] },
};

/** One of several shapes, told apart by the key that only one of them has. */
export function oneShape(shapes: Record<string, Rule>): Rule {
  const wanted = `must have exactly one of the keys: ${Object.keys(shapes).join(', ')}`;
  return {
    yup: choose((value) => {
      if (!isRecord(value)) return refuse(wanted);
      const [only, second] = Object.keys(shapes).filter((key) => Object.hasOwn(value, key));
      return second === undefined ? (shapes[only ?? '']?.yup ?? refuse(wanted)) : refuse(wanted);
    }),
    json: { oneOf: Object.values(shapes).map(({ json }) => json) },
  };
}

/** A text, or something that is none. */
export function textOr(whenText: Rule, otherwise: Rule): Rule {
  return {
    yup: choose((value) => (typeof value === 'object' && value !== null ? otherwise.yup : whenText.yup)),
    json: { oneOf: [whenText.json, otherwise.json] },
  };
}

/** An object with names of the author's choosing. */
export function mapOf(value: Rule): Rule {
  return {
    yup: choose((given) => {
      if (given === undefined) return yup.mixed();
      if (!isRecord(given)) return refuse('must be an object');
      return yup.object(Object.fromEntries(Object.keys(given).map((name) => [name, demand(value.yup)]))).strict();
    }),
    json: { type: 'object', additionalProperties: value.json },
  };
}

/** Any JSON whose texts are templates. */
export const jsonTemplate: Rule = {
  yup: yup.mixed().test('placeholders', (value, context) => {
    const unknown = findUnknownPlaceholders(JSON.stringify(value ?? ''));
    return (
      unknown.length === 0 ||
      context.createError({
        message: `has unknown placeholders: ${unknown.join(', ')} (known: ${PLACEHOLDERS.join(', ')})`,
      })
    );
  }),
  json: {},
};

function choose(find: (value: unknown) => Rule['yup']): Rule['yup'] {
  return yup.lazy((value: unknown) => find(value) as yup.Schema);
}

function refuse(message: string): yup.Schema {
  return yup.mixed().test('shape', message, () => false);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
