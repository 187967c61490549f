import { readFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import { KubeConfig } from '@kubernetes/client-node';
import { Agent, type Dispatcher } from 'undici';

/** The kubeconfig of `path`; else of KUBECONFIG, ~/.kube/config, or the ServiceAccount of the pod we run in. */
export function loadKubeConfig(path?: string): KubeConfig {
  const config = new KubeConfig();
  if (path === undefined) config.loadFromDefault();
  else config.loadFromFile(path);
  return config;
}

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/** The namespace of the kubeconfig's context, else the pod's own, else `default`. */
export function namespaceOf(config: KubeConfig): string {
  const named = config.getContextObject(config.getCurrentContext())?.namespace;
  if (named !== undefined && named !== '') return named;
  try {
    return readFileSync(NAMESPACE_FILE, 'utf8').trim();
  } catch {
    return 'default';
  }
}

export type Access = { readonly dispatcher: Dispatcher; readonly headers: Readonly<Record<string, string>> };

export type Credentials = {
  /** Connections and headers for a call; read anew now and then, for tokens and certificates change on disk. */
  access(): Promise<Access>;
  /** They were refused: the next call reads them anew. */
  forget(): void;
  close(): Promise<void>;
};

// A token in a pod is renewed 10 minutes before it ends.
const FRESH_MS = 30_000;
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * One set of connections for all calls: the generated client makes a new TLS connection for each call, and reads the
 * certificate files each time. HTTP/2 is off: one stalled connection would hold up every watch and the lease.
 */
export function openCredentials(config: KubeConfig): Credentials {
  let agent: { dispatcher: Agent; made: string } | undefined;
  let current: { access: Promise<Access>; readMs: number } | undefined;

  async function read(): Promise<Access> {
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    const tls = tlsOf(options);
    const made = JSON.stringify(tls);
    if (agent?.made !== made) {
      // Calls under way end on the old connections; a watch, at its next reconnect.
      void agent?.dispatcher.close().catch(() => undefined);
      const connect = { ...tls, timeout: CONNECT_TIMEOUT_MS, keepAliveInitialDelay: 30_000 };
      agent = { made, dispatcher: new Agent({ allowH2: false, connect, keepAliveTimeout: 30_000, bodyTimeout: 0 }) };
    }
    return { dispatcher: agent.dispatcher, headers: { ...headersOf(options), ...basicAuth(options) } };
  }

  return {
    access: async () => {
      if (current === undefined || performance.now() - current.readMs > FRESH_MS) {
        const access = read();
        current = { access, readMs: performance.now() };
        access.catch(() => (current = undefined));
      }
      return current.access;
    },
    forget: () => (current = undefined),
    close: async () => agent?.dispatcher.destroy(),
  };
}

type Tls = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;

function tlsOf(options: RequestOptions): Tls {
  const { ca, cert, key, servername, rejectUnauthorized } = options;
  return {
    ...(ca != null && { ca }),
    ...(cert != null && { cert }),
    ...(key != null && { key }),
    ...(servername != null && { servername }),
    ...(rejectUnauthorized != null && { rejectUnauthorized }),
  };
}

function headersOf({ headers }: RequestOptions): Record<string, string> {
  if (headers === undefined || Array.isArray(headers)) return {};
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

function basicAuth({ auth }: RequestOptions): Record<string, string> {
  return auth == null ? {} : { Authorization: `Basic ${Buffer.from(auth).toString('base64')}` };
}
