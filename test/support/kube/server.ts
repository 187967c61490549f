import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, fetch } from 'undici';
import { startChild, type Child } from '../../../cmd/standalone/servers/child.ts';
import { startGuard, type Guard } from '../../../cmd/standalone/servers/guard.ts';
import { findFreePort } from '../../../cmd/standalone/servers/ports.ts';
import { waitUntilReady } from '../../../cmd/standalone/servers/ready.ts';

export type KubeServer = {
  /** Path of an administrator's kubeconfig. */
  kubeConfigFile: string;
  /** 127.0.0.1. */
  port: number;
  etcdUrl: string;
  /** A kubeconfig of the same administrator that leads to another port, such as a proxy's. */
  kubeConfigVia(port: number): string;
  /** Takes the API server away without notice, and brings it back on the same port. */
  kill9(): Promise<void>;
  restart(): Promise<void>;
  /** Stops the process where it is: connections stay open and nothing answers. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
};

const READY_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 20_000;

/** A real kube-apiserver on its own etcd, both on free ports in a temporary folder, for the one who asks. */
export async function startKube(programs: string): Promise<KubeServer> {
  const dir = await mkdtemp(join(tmpdir(), 'search-capture-kube-'));
  const guard = startGuard();
  const undo: (() => Promise<unknown>)[] = [() => rm(dir, { recursive: true, force: true }), () => guard.close()];
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const etcd = await startEtcd(programs, dir, guard);
    undo.push(() => etcd.child.stop());
    const [port, token] = [await findFreePort(), randomUUID()];
    await writeKeys(dir, token);
    const start = () =>
      startApiServer({ program: join(programs, 'kube-apiserver'), dir, guard, port, etcdUrl: etcd.url });
    let server = await start();
    undo.push(() => server.stop());
    const certificate = await readFile(join(dir, 'certs', 'apiserver.crt'), 'utf8');
    const kubeConfigVia = (via: number): string => kubeConfigOf(via, certificate, token);
    const kubeConfigFile = join(dir, 'kubeconfig');
    await writeFile(kubeConfigFile, kubeConfigVia(port));
    return {
      kubeConfigFile,
      port,
      etcdUrl: etcd.url,
      kubeConfigVia,
      kill9: () => server.kill9(),
      restart: async () => {
        await server.kill9();
        server = await start();
      },
      freeze: () => process.kill(server.pid, 'SIGSTOP'),
      thaw: () => process.kill(server.pid, 'SIGCONT'),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startEtcd(programs: string, dir: string, guard: Guard): Promise<{ child: Child; url: string }> {
  const [url, peers] = [`http://127.0.0.1:${await findFreePort()}`, `http://127.0.0.1:${await findFreePort()}`];
  const args = {
    'data-dir': join(dir, 'etcd'),
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': peers,
    'initial-advertise-peer-urls': peers,
    'initial-cluster': `default=${peers}`,
    'unsafe-no-fsync': 'true',
  };
  const child = await startServer({ name: 'etcd', program: join(programs, 'etcd'), dir, guard, args });
  await waitUntilReady(child, {
    logFile: join(dir, 'etcd.log'),
    timeoutMs: READY_TIMEOUT_MS,
    isReady: async () => (await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) })).ok,
  });
  return { child, url };
}

type ApiServerOptions = { program: string; dir: string; guard: Guard; port: number; etcdUrl: string };

async function startApiServer({ program, dir, guard, port, etcdUrl }: ApiServerOptions): Promise<Child> {
  const args = {
    'etcd-servers': etcdUrl,
    'secure-port': String(port),
    'bind-address': '127.0.0.1',
    'cert-dir': join(dir, 'certs'),
    'token-auth-file': join(dir, 'tokens.csv'),
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-key-file': join(dir, 'service-account.key'),
    'service-account-signing-key-file': join(dir, 'service-account.key'),
    'service-cluster-ip-range': '10.0.0.0/24',
    'authorization-mode': 'RBAC',
    // Its controller of default ServiceAccounts is not there.
    'disable-admission-plugins': 'ServiceAccount',
  };
  const child = await startServer({ name: 'kube-apiserver', program, dir, guard, args });
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  await waitUntilReady(child, {
    logFile: join(dir, 'kube-apiserver.log'),
    timeoutMs: READY_TIMEOUT_MS,
    isReady: async () => {
      const signal = AbortSignal.timeout(2_000);
      return (await fetch(`https://127.0.0.1:${port}/readyz`, { dispatcher, signal })).ok;
    },
  });
  await dispatcher.close();
  return child;
}

type ServerOptions = {
  name: string;
  program: string;
  dir: string;
  guard: Guard;
  args: Readonly<Record<string, string>>;
};

function startServer({ name, program, dir, guard, args }: ServerOptions): Promise<Child> {
  return startChild({
    name,
    command: program,
    args: Object.entries(args).map(([key, value]) => `--${key}=${value}`),
    cwd: dir,
    env: process.env,
    logFile: join(dir, `${name}.log`),
    stopSignal: 'SIGKILL',
    stopTimeoutMs: STOP_TIMEOUT_MS,
    channel: false,
    guard,
  });
}

async function writeKeys(dir: string, token: string): Promise<void> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await mkdir(join(dir, 'certs'));
  await writeFile(join(dir, 'service-account.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }));
  await writeFile(join(dir, 'tokens.csv'), `${token},admin,admin,system:masters\n`);
}

/** The server makes its own certificate, for 127.0.0.1 among others; the file holds its authority too. */
function kubeConfigOf(port: number, certificate: string, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'test',
        cluster: {
          server: `https://127.0.0.1:${port}`,
          'certificate-authority-data': Buffer.from(certificate).toString('base64'),
        },
      },
    ],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
    'current-context': 'test',
  });
}
