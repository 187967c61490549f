import { SCHEMA_VERSION } from '../version.ts';
import { ANSWER_SCHEMAS } from './answer-schemas.ts';
import { ref } from './build.ts';
import { EXAMPLES } from './examples.ts';
import { DELIVERY_PATHS } from './operations-deliveries.ts';
import { READING_PATHS } from './operations-reading.ts';
import { SEARCH_PATHS } from './operations-search.ts';
import { WATCH_PATHS } from './operations-watches.ts';
import { refusal } from './replies.ts';
import { REQUEST_SCHEMAS } from './request-schemas.ts';
import { RESPONSE_SCHEMAS } from './response-schemas.ts';
import type { OpenApiDocument, Operation } from './types.ts';
import { WATCH_SCHEMAS } from './watch-schemas.ts';

const DESCRIPTION = `Asks AI answer engines what a person would ask, and gives what they answer in one normalized form, with its sources.

Requests carry \`Authorization: Bearer <API key>\`, unless the route is public. Bodies are JSON, timestamps ISO 8601. Every error has one flat body with a stable \`code\`; retry those that the catalogue calls retryable, with backoff and jitter, and honour \`Retry-After\`. A path that does not exist answers as components/responses/NotFound says, a method that a path does not take as MethodNotAllowed.`;

const delivery: Operation = {
  operationId: 'captureEnded',
  summary: 'A capture has ended',
  description:
    'Sent once for each child, at least once: recognize repeats by the id. Verify the signature over the raw bytes, and refuse timestamps older than five minutes.',
  tags: ['Search'],
  security: [],
  parameters: [
    {
      name: 'X-Service-Timestamp',
      in: 'header',
      required: true,
      description: 'Unix seconds.',
      schema: { type: 'string', pattern: '^[0-9]+$' },
    },
    {
      name: 'X-Service-Signature',
      in: 'header',
      required: true,
      description: 'Lower-case hex of HMAC-SHA256, keyed by the secret, over "<timestamp>.<raw body>".',
      schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    },
  ],
  requestBody: {
    required: true,
    content: {
      'application/json': { schema: ref('Delivery'), examples: { completed: { value: EXAMPLES.delivery } } },
    },
  },
  responses: {
    '2XX': { description: 'Received.', headers: {} },
    410: { description: 'Do not send this delivery again.', headers: {} },
  },
};

/** The OpenAPI 3.1 document of everything that can be called over HTTP, under this base address. */
export function buildOpenApi(publicBaseUrl: string): OpenApiDocument {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Search Capture Service',
      version: SCHEMA_VERSION,
      summary: 'What AI answer engines say, with their sources.',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: publicBaseUrl, description: 'This service' }],
    tags: [
      { name: 'Search', description: 'Ask surfaces, and be told when they have answered.' },
      { name: 'Jobs', description: 'Read and cancel searches.' },
      { name: 'Watches', description: 'Searches that run on a schedule.' },
      { name: 'Account', description: 'Usage, headroom and signing secrets.' },
      { name: 'Webhooks', description: 'What was delivered, and sending it again.' },
      { name: 'Discovery', description: 'Public: what there is, and whether it is up.' },
    ],
    paths: { ...SEARCH_PATHS, ...READING_PATHS, ...WATCH_PATHS, ...DELIVERY_PATHS },
    webhooks: { captureEnded: { post: delivery } },
    components: {
      schemas: { ...REQUEST_SCHEMAS, ...ANSWER_SCHEMAS, ...RESPONSE_SCHEMAS, ...WATCH_SCHEMAS },
      responses: {
        NotFound: refusal(404, ['NOT_FOUND']),
        MethodNotAllowed: refusal(405, ['METHOD_NOT_ALLOWED']),
      },
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key (sk_live_…, sk_test_…). Each route names the scope that the key must have.',
        },
      },
    },
  };
}
