import { createServer, type ServerResponse } from 'node:http';
import { closeServer, portOf, startListening } from '../../pkg/telemetry/index.ts';
import type { Outcome } from '../../pkg/capture/index.ts';

/** One way in which a page goes well or wrong, and as what its capture may end. */
export type Trouble = {
  path: string;
  outcomes: readonly Outcome[];
  /** Until the deadline. */
  lasts?: true;
  cancels?: true;
  killsBrowser?: true;
};

const WELL: Trouble = { path: 'none', outcomes: ['completed'] };

/** One round: half of it goes well. */
export const TROUBLES: readonly Trouble[] = [
  WELL,
  { path: 'http-500', outcomes: ['unusable'] },
  WELL,
  { path: 'busy-loop', outcomes: ['timeout'], lasts: true },
  WELL,
  { path: 'crash', outcomes: ['crashed'] },
  WELL,
  { path: 'canceled', outcomes: ['canceled'], cancels: true },
  WELL,
  { path: 'never-ends', outcomes: ['timeout'], lasts: true },
  WELL,
  { path: 'hangs-up', outcomes: ['unusable'] },
  WELL,
  { path: 'dialogs', outcomes: ['completed'] },
  WELL,
  { path: 'windows', outcomes: ['completed'] },
  WELL,
  { path: 'download', outcomes: ['completed'] },
  WELL,
  { path: 'refused', outcomes: ['unusable'] },
  WELL,
  { path: 'blocked', outcomes: ['blocked'] },
  WELL,
  // On a busy machine the time may be over before the half can be read.
  { path: 'half', outcomes: ['partial', 'timeout'], lasts: true },
  WELL,
  { path: 'fails', outcomes: ['unusable'] },
  WELL,
  { path: 'memory', outcomes: ['completed'] },
  WELL,
  { path: 'killed', outcomes: ['crashed', 'timeout'], lasts: true, killsBrowser: true },
];

const answer = (then = ''): string => `<p class="answer"></p><script>
  const words = ['one ', 'two ', 'three'];
  const timer = setInterval(() => {
    document.querySelector('.answer').append(words.shift());
    if (words.length > 0) return;
    clearInterval(timer);
    ${then}
    document.body.insertAdjacentHTML('beforeend', '<i id="done"></i>');
  }, 30);
</script>`;

const PAGES: Readonly<Record<string, string>> = {
  none: answer(),
  'busy-loop': '<p class="answer"></p><script>setTimeout(() => { for (;;); }, 50)</script>',
  // V8 gives up on an array of this length instead of throwing.
  crash: `<script>setTimeout(() => 'x'.repeat(2 ** 28).split(''), 50)</script>`,
  canceled: '<p class="answer"></p>',
  dialogs: `<script>onbeforeunload = () => 'stay'; setTimeout(() => { alert(1); confirm(2); prompt(3) })</script>${answer()}`,
  windows: `<script>for (let n = 0; n < 3; n += 1) open('/?trouble=none', '_blank')</script>${answer()}`,
  download: `<a download="x.bin" href="data:application/octet-stream,x">x</a>${answer(`document.querySelector('a').click();`)}`,
  half: '<p class="answer">only half of</p>',
  fails: '<p id="failed">failed</p>',
  memory: `<script>globalThis.held = Array.from({ length: 40 }, () => new Uint8Array(1 << 20).fill(1))</script>${answer()}`,
  killed: '<p class="answer"></p>',
};

const STATUS: Readonly<Record<string, number>> = { 'http-500': 500, blocked: 403 };

export type HostileSite = { origin: string; expectNobody(): void; close(): Promise<void> };

/** A site that does what `?trouble=` says. */
export async function startHostileSite(): Promise<HostileSite> {
  const open = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    open.add(response);
    response.once('close', () => open.delete(response));
    const trouble = new URL(request.url ?? '/', 'http://site').searchParams.get('trouble') ?? '';
    if (trouble === 'hangs-up') {
      request.socket.destroy();
      return;
    }
    if (trouble === 'refused') {
      response.writeHead(302, { location: 'http://10.255.255.1/' }).end();
      return;
    }
    response.writeHead(STATUS[trouble] ?? 200, { 'content-type': 'text/html; charset=utf-8' });
    response.write(`<!doctype html><title>Test</title>${PAGES[trouble] ?? ''}`);
    if (trouble !== 'never-ends') response.end();
  });
  await startListening(server, '127.0.0.1', 0);
  return {
    origin: `http://127.0.0.1:${portOf(server)}`,
    /** Throws when a page still waits for us: its browser, or the guard, has not let go. */
    expectNobody: () => {
      if (open.size > 0) throw new Error(`${open.size} requests are still open`);
    },
    close: () => closeServer(server),
  };
}
