import type { Page, Request, WebSocket } from 'playwright-core';
import { pause, type Clock } from '../../../runtime/index.ts';
import { globToRegExp } from '../../profile/glob.ts';
import type { StreamRule } from '../../profile/profile.ts';

export type Streams = {
  isPending(): boolean;
  /** Returns when none is pending, or after `timeoutMs`. */
  waitForEnd(timeoutMs: number): Promise<void>;
};

export type StreamsOptions = {
  rules: readonly (string | StreamRule)[];
  /** A web socket never ends: without a message that ends its turn it counts as idle after so much silence. */
  quietMs: number;
  clock: Clock;
  /** What came to pass, for the capture's signals. */
  note: (name: string) => void;
};

type Socket = { ends: string | null; lastMs: number; busy: boolean };

/** Sockets have no event for having been silent for a while. */
const LOOK_EVERY_MS = 50;

/** Follows what carries the answer, so that a pause in the text is not taken for its end. */
export function followStreams(page: Page, { rules, quietMs, clock, note }: StreamsOptions): Streams {
  const patterns = rules.map((rule) =>
    typeof rule === 'string'
      ? { url: globToRegExp(rule), ends: null }
      : { url: globToRegExp(rule.url), ends: rule.ends },
  );
  const match = (url: string) => patterns.find((pattern) => pattern.url.test(url));
  const requests = new Set<Request>();
  const sockets = new Set<Socket>();
  let ended = new AbortController();
  const tell = (): void => {
    ended.abort();
    ended = new AbortController();
  };

  function followRequests(): void {
    page.on('request', (request) => {
      if (match(request.url()) === undefined) return;
      requests.add(request);
      note('stream opened');
    });
    const forget = (name: string) => (request: Request) => {
      if (!requests.delete(request)) return;
      note(name);
      if (requests.size === 0) tell();
    };
    page.on('requestfinished', forget('stream ended'));
    // A page that closes its stream once it has all of it aborts the request: that is an end like any other.
    page.on('requestfailed', forget('stream aborted'));
  }

  function followSocket(webSocket: WebSocket): void {
    const pattern = match(webSocket.url());
    if (pattern === undefined) return;
    const socket: Socket = { ends: pattern.ends, lastMs: -Infinity, busy: false };
    sockets.add(socket);
    note('socket opened');
    const heard = (payload: string | Buffer | null): void => {
      socket.lastMs = clock.nowMs();
      const isEnd = payload !== null && socket.ends !== null && payload.toString().includes(socket.ends);
      if (socket.busy && isEnd) note('socket said its end');
      socket.busy = !isEnd;
      if (isEnd) tell();
    };
    webSocket.on('framesent', () => heard(null));
    webSocket.on('framereceived', ({ payload }) => heard(payload));
    webSocket.on('close', () => {
      sockets.delete(socket);
      note('socket closed');
      tell();
    });
  }

  if (patterns.length > 0) {
    followRequests();
    page.on('websocket', followSocket);
  }
  const isSocketPending = ({ ends, lastMs, busy }: Socket): boolean =>
    ends === null ? clock.nowMs() - lastMs < quietMs : busy;
  const isPending = (): boolean => requests.size > 0 || [...sockets].some(isSocketPending);
  return {
    isPending,
    waitForEnd: async (timeoutMs) => {
      const untilMs = clock.nowMs() + timeoutMs;
      for (let leftMs = timeoutMs; leftMs > 0 && isPending(); leftMs = untilMs - clock.nowMs()) {
        await pause(Math.min(leftMs, sockets.size === 0 ? leftMs : LOOK_EVERY_MS), ended.signal);
      }
    },
  };
}
