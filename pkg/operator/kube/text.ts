/** metav1.Time: RFC 3339 with whole seconds. Anything finer comes back different and would look like a change. */
export function secondsTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** metav1.MicroTime: the API server refuses any other number of digits. */
export function microTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replace('Z', '000Z');
}

/** At most `length` UTF-16 units, never half a character. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length - 1);
  return `${/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}
