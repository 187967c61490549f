import { isIPv6, type LookupFunction } from 'node:net';
import { Client, type Dispatcher } from 'undici';
import type { Destination } from './guard.ts';

export type PostLimits = {
  connectTimeoutMs: number;
  /** Of headers and of body, each. */
  maxResponseBytes: number;
  /** Certificate authorities in PEM to trust instead of the system's. */
  ca?: string;
};

export type PostRequest = {
  destination: Destination;
  headers: Record<string, string>;
  body: Uint8Array;
  /** Ends the whole exchange. */
  signal: AbortSignal;
  limits: PostLimits;
};

export type PostAnswer = { status: number; retryAfter: string | undefined };

/**
 * POSTs once, to one of the vetted addresses and to nothing else: the name is used for Host and certificate only, and
 * is not looked up again. Redirects are answers like any other. Throws when no answer came before `signal` or a limit.
 */
export async function postOnce({ destination, headers, body, signal, limits }: PostRequest): Promise<PostAnswer> {
  const { url, addresses } = destination;
  // A client for one request: a kept connection could outlive the vetting of its address.
  const client = new Client(url.origin, {
    maxHeaderSize: limits.maxResponseBytes,
    allowH2: false,
    connect: {
      lookup: answerWith(addresses),
      timeout: limits.connectTimeoutMs,
      autoSelectFamilyAttemptTimeout: 1_000,
      ...(limits.ca === undefined ? {} : { ca: limits.ca }),
    },
  });
  try {
    const answer = await client.request({
      method: 'POST',
      path: url.pathname + url.search,
      headers,
      body,
      signal,
      reset: true,
    });
    const retryAfter = answer.headers['retry-after'];
    await readUpTo(answer.body, limits.maxResponseBytes);
    return { status: answer.statusCode, retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined };
  } finally {
    await client.destroy();
  }
}

function answerWith(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_hostname, options, callback) => {
    const [first] = found;
    if (first === undefined) callback(new Error('the destination has no address'), '');
    else if (options.all === true) callback(null, found);
    else callback(null, first.address, first.family);
  };
}

/**
 * Reads a little, so that a receiver is not cut off while it still writes. The status has decided already: a body that
 * is too long, too slow or torn changes nothing.
 */
async function readUpTo(body: Dispatcher.ResponseData['body'], maxBytes: number): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += Buffer.isBuffer(chunk) ? chunk.length : 0;
      if (bytes >= maxBytes) return;
    }
  } catch {
    // Nothing of the body is used, and the caller destroys the connection either way.
    return;
  }
}
