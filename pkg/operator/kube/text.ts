import { StringDecoder } from 'node:string_decoder';

/** metav1.Time: RFC 3339 with whole seconds. Anything finer comes back different and would look like a change. */
export function secondsTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** metav1.MicroTime: the API server refuses any other number of digits. */
export function microTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replace('Z', '000Z');
}

/** At most `mostBytes` bytes of UTF-8, as the API server counts, and never half a character. */
export function shorten(text: string, mostBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= mostBytes) return text;
  const ellipsis = '…';
  // The decoder holds back a character that is cut in two.
  return new StringDecoder('utf8').write(bytes.subarray(0, mostBytes - Buffer.byteLength(ellipsis))) + ellipsis;
}
