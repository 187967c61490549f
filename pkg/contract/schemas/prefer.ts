const LONGEST_WAIT_SECONDS = 120;

/**
 * Seconds of `Prefer: wait=N` (RFC 7240), at most 120; null when the header has no well-formed `wait`. The first one
 * counts. Zero is well-formed.
 */
export function parsePrefer(header: string | undefined): number | null {
  for (const preference of (header ?? '').split(',')) {
    const [value = ''] = preference.split(';');
    const digits = /^wait\s*=\s*(?:(\d+)|"(\d+)")$/i.exec(value.trim());
    if (digits !== null) return Math.min(Number(digits[1] ?? digits[2]), LONGEST_WAIT_SECONDS);
  }
  return null;
}
