import { randomBytes } from 'node:crypto';
import pino from 'pino';
import {
  core,
  defineKind,
  resourceClient,
  type Condition,
  type Connection,
  type CustomResourceDefinition,
  type Desired,
  type KubeObject,
} from '../../../pkg/operator/kube/index.ts';
import { until } from '../poll.ts';

/** Silent unless TEST_LOG_LEVEL names a level. */
export const testLog = pino({ level: process.env['TEST_LOG_LEVEL'] ?? 'silent' }, pino.destination(2));

/** A namespace of one test. It is left behind: nothing in it runs. */
export async function createNamespace(connection: Connection): Promise<string> {
  const name = `test-${randomBytes(5).toString('hex')}`;
  await resourceClient(connection, core.namespaces).create({ metadata: { name } });
  return name;
}

/** An object that stands for any custom one. */
export type Widget = KubeObject & {
  readonly spec?: { readonly size?: number; readonly colours?: readonly string[] };
  readonly status?: {
    readonly size?: number;
    readonly conditions?: readonly Condition[];
    readonly observedGeneration?: number;
  };
};

export const widgets = defineKind<Widget>('test.example.com/v1', 'Widget', 'widgets');

const text = { type: 'string' };
const conditionSchema = {
  type: 'object',
  required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
  properties: {
    type: text,
    status: text,
    reason: text,
    message: text,
    lastTransitionTime: { type: 'string', format: 'date-time' },
    observedGeneration: { type: 'integer' },
  },
};
const widgetDefinition: Desired<CustomResourceDefinition> = {
  metadata: { name: 'widgets.test.example.com' },
  spec: {
    group: 'test.example.com',
    scope: 'Namespaced',
    names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: { size: { type: 'integer', maximum: 1000 }, colours: { type: 'array', items: text } },
              },
              status: {
                type: 'object',
                properties: {
                  size: { type: 'integer' },
                  observedGeneration: { type: 'integer' },
                  conditions: {
                    type: 'array',
                    items: conditionSchema,
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['type'],
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

/** Makes the API server know Widgets. */
export async function installWidgets(connection: Connection): Promise<void> {
  await installDefinition(connection, widgetDefinition);
}

/** Applies a definition and waits until its kind is served. */
export async function installDefinition(
  connection: Connection,
  definition: Desired<CustomResourceDefinition>,
): Promise<void> {
  const definitions = resourceClient(connection, core.customResourceDefinitions);
  await definitions.apply(definition, { fieldManager: 'test' });
  const key = { namespace: '', name: definition.metadata.name };
  await until(
    async () => {
      const { status } = await definitions.get(key);
      return status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True');
    },
    { timeoutMs: 30_000, what: `${key.name} is served` },
  );
}
