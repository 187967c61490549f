// The part of OpenAPI 3.1 that our document uses, as types, so that a misspelt keyword does not compile.

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

type TypeName = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array' | 'null';

export type Schema = {
  $ref?: string;
  description?: string;
  type?: TypeName | readonly TypeName[];
  enum?: readonly Json[];
  const?: Json;
  default?: Json;
  format?: 'date-time' | 'date' | 'uri';
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  not?: Schema;
};

export type Example = { summary?: string; value: Json };
export type Content = Readonly<Record<string, { schema: Schema; examples?: Readonly<Record<string, Example>> }>>;
export type Header = { description: string; required?: boolean; schema: Schema };
export type Reply = { description: string; headers: Readonly<Record<string, Header>>; content?: Content };

export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  description: string;
  required?: boolean;
  schema: Schema;
};

export type Operation = {
  operationId: string;
  summary: string;
  description?: string;
  tags: readonly string[];
  /** Empty for a public route; else one entry that names the scope the key needs. */
  security: readonly Readonly<Record<string, readonly string[]>>[];
  parameters?: readonly Parameter[];
  requestBody?: { required: true; content: Content };
  responses: Readonly<Record<string, Reply>>;
};

export const DOCUMENTED_METHODS = ['get', 'post', 'patch', 'delete'] as const;
export type DocumentedMethod = (typeof DOCUMENTED_METHODS)[number];

/** What can be called at one path. */
export type PathItem = Readonly<Partial<Record<DocumentedMethod, Operation>>>;

export type OpenApiDocument = {
  openapi: '3.1.0';
  info: {
    title: string;
    version: string;
    summary: string;
    description: string;
    license: { name: string; identifier: string };
  };
  servers: readonly { url: string; description: string }[];
  tags: readonly { name: string; description: string }[];
  paths: Readonly<Record<string, PathItem>>;
  webhooks: Readonly<Record<string, PathItem>>;
  components: {
    schemas: Readonly<Record<string, Schema>>;
    responses: Readonly<Record<string, Reply>>;
    securitySchemes: Readonly<Record<string, { type: 'http'; scheme: 'bearer'; description: string }>>;
  };
};
