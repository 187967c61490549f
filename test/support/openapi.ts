import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import {
  DOCUMENTED_METHODS,
  type OpenApiDocument,
  type Operation,
  type Reply,
  type Schema,
} from '../../pkg/contract/index.ts';

export type SeenResponse = { method: string; path: string; status: number; headers: Headers; text: string };

export type OpenApiChecks = {
  /** Throws when the response is not one that the document describes. */
  checkResponse: (seen: SeenResponse) => void;
  /** What is wrong with a value, as one text; empty when it is what the schema says. */
  findFaults: (schema: Schema, value: unknown) => string;
};

const SHARED = 'https://contract.example/schemas';

type Known = { document: OpenApiDocument; validatorOf: (schema: Schema) => ValidateFunction };

/**
 * Checks against an OpenAPI document. Objects of responses are closed here although the document leaves them open: a
 * field that is sent and not described is a fault of the document.
 */
export function createOpenApiChecks(document: OpenApiDocument): OpenApiChecks {
  const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true, strict: true, strictRequired: false });
  addFormats.default(ajv);
  const schemas = Object.fromEntries(
    Object.entries(document.components.schemas).map(([name, schema]) => [name, close(schema)]),
  );
  ajv.addSchema(readObject(toPlainSchema({ $id: SHARED, $defs: schemas })));
  const compiled = new Map<string, ValidateFunction>();
  const validatorOf = (schema: Schema): ValidateFunction => {
    const text = toPlainSchema(close(schema));
    const known = compiled.get(text) ?? ajv.compile(readObject(text));
    compiled.set(text, known);
    return known;
  };
  const known = { document, validatorOf };
  return {
    checkResponse: (seen) => {
      checkResponse(known, seen);
    },
    findFaults: (schema, value) => findFaults(known, schema, value),
  };
}

function checkResponse(known: Known, { method, path, status, headers, text }: SeenResponse): void {
  const what = `${method} ${path} answered ${status}, which`;
  const reply = findReply(known.document, method, path, status);
  if (reply === undefined) throw new Error(`${what} is not in the OpenAPI document (pkg/contract/openapi)`);

  const faults = Object.entries(reply.headers).flatMap(([name, { required, schema }]) => {
    const value = headers.get(name);
    if (value === null) return required === true ? [`lacks the header ${name}`] : [];
    const fault = findFaults(known, schema, schema.type === 'integer' ? Number(value) : value);
    return fault === '' ? [] : [`has the header ${name}: ${value}: ${fault}`];
  });
  if (method !== 'HEAD') faults.push(...checkBody(known, reply, headers.get('content-type'), text));
  if (faults.length > 0) throw new Error(`${what} differs from the OpenAPI document: ${faults.join('; ')}`);
}

function checkBody(known: Known, { content = {} }: Reply, contentType: string | null, text: string): string[] {
  const type = contentType?.split(';')[0] ?? '';
  if (Object.keys(content).length === 0) return text === '' ? [] : ['has a body'];
  const described = content[type];
  if (described === undefined) return [`has the content type ${type}`];
  if (type !== 'application/json') return [];
  const body: unknown = JSON.parse(text);
  const fault = findFaults(known, described.schema, body);
  if (fault !== '') return [fault];
  // The examples of an error response are named for the codes that it may have.
  if (described.schema.$ref !== '#/components/schemas/Error') return [];
  const code = typeof body === 'object' && body !== null && 'code' in body ? String(body.code) : '';
  return described.examples?.[code] === undefined ? [`has the code ${code}`] : [];
}

function findFaults({ validatorOf }: Known, schema: Schema, value: unknown): string {
  const validate = validatorOf(schema);
  if (validate(value)) return '';
  const faults = (validate.errors ?? []).map(
    ({ instancePath, message = '', params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
  return faults.slice(0, 12).join(', ');
}

function findReply(document: OpenApiDocument, method: string, path: string, status: number): Reply | undefined {
  const item = findPath(document, new URL(path, 'http://service.example').pathname);
  if (item === undefined) return status === 404 ? document.components.responses['NotFound'] : undefined;
  const operation = operationOf(item, method);
  if (operation === undefined) return status === 405 ? document.components.responses['MethodNotAllowed'] : undefined;
  return operation.responses[String(status)];
}

function operationOf(item: OpenApiDocument['paths'][string], method: string): Operation | undefined {
  const asked = method === 'HEAD' ? 'get' : method.toLowerCase();
  const name = DOCUMENTED_METHODS.find((documented) => documented === asked);
  return name === undefined ? undefined : item[name];
}

/** The most literal template that fits: `/v1/search/batch` is not the alias of a surface. */
function findPath({ paths }: OpenApiDocument, path: string): OpenApiDocument['paths'][string] | undefined {
  const segments = path.split('/');
  const fits = Object.keys(paths)
    .filter((template) => {
      const parts = template.split('/');
      return parts.length === segments.length && parts.every((part, index) => fitsSegment(part, segments[index] ?? ''));
    })
    .sort((a, b) => a.split('{').length - b.split('{').length);
  return fits[0] === undefined ? undefined : paths[fits[0]];
}

/** What can't be decoded names nothing, so it fits no parameter. */
function fitsSegment(part: string, segment: string): boolean {
  if (!part.startsWith('{')) return part === segment;
  try {
    return decodeURIComponent(segment) !== '';
  } catch (error) {
    if (error instanceof URIError) return false;
    throw error;
  }
}

function close(schema: Schema): Schema {
  const { items, properties, anyOf, oneOf } = schema;
  return {
    ...schema,
    ...(items === undefined ? {} : { items: close(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(close) }),
    ...(oneOf === undefined ? {} : { oneOf: oneOf.map(close) }),
    ...(properties === undefined
      ? {}
      : {
          additionalProperties: false,
          properties: Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, close(member)])),
        }),
  };
}

/** As JSON Schema has it: the document's own place for shared schemas is no keyword there. */
function toPlainSchema(schema: object): string {
  return JSON.stringify(schema).replaceAll('"#/components/schemas/', `"${SHARED}#/$defs/`);
}

function readObject(json: string): object {
  const value: unknown = JSON.parse(json);
  if (typeof value !== 'object' || value === null) throw new Error('a schema is an object');
  return value;
}
