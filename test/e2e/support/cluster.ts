import { run, tell, until, type Said } from './tools.ts';

export type Cluster = {
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** For calls that may fail. */
  tryKubectl(args: readonly string[], input?: string): Promise<Said>;
  /** One field of an object, as `kubectl -o jsonpath` has it; empty when there is no such field. */
  field(what: string, path: string): Promise<string>;
  /** Names of the pods that run with these labels, those on their way out left aside. */
  pods(selector: string): Promise<string[]>;
  waitForField(what: string, path: string, wanted: RegExp, timeoutMs: number): Promise<string>;
  /** What a script prints that a pod's Node runs. */
  script(pod: string, text: string, args?: readonly string[]): Promise<Said>;
};

/** The cluster of KUBECONFIG, seen from one namespace. */
export function openCluster(namespace: string): Cluster {
  const words = (args: readonly string[]): string[] => ['--namespace', namespace, ...args];
  const kubectl: Cluster['kubectl'] = (args, input = '') => run('kubectl', words(args), { input, timeoutMs: 180_000 });
  const tryKubectl: Cluster['tryKubectl'] = (args, input = '') =>
    tell('kubectl', words(args), { input, timeoutMs: 180_000 });
  const field: Cluster['field'] = (what, path) => kubectl(['get', ...what.split(' '), '-o', `jsonpath={${path}}`]);
  return {
    kubectl,
    tryKubectl,
    field,
    pods: async (selector) => {
      const shown = '{range .items[*]}{.metadata.name} {.status.phase} {.metadata.deletionTimestamp}{"\\n"}{end}';
      const text = await kubectl(['get', 'pods', '-l', selector, '-o', `jsonpath=${shown}`]);
      const rows = text.split('\n').map((line) => line.trim().split(' '));
      return rows
        .filter(([, phase, leaving]) => phase === 'Running' && leaving === undefined)
        .map(([name = '']) => name);
    },
    waitForField: (what, path, wanted, timeoutMs) =>
      until(`${what} ${path} ${String(wanted)}`, timeoutMs, async () => {
        const value = await field(what, path);
        if (wanted.test(value)) return value;
        throw new Error(`It is "${value}".`);
      }),
    script: (pod, text, args = []) =>
      tryKubectl(['exec', '-i', pod, '--', 'node', '--input-type=module', '-', ...args], text),
  };
}
