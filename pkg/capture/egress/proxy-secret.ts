const SCHEMES = ['http:', 'https:', 'socks5:', 'socks5h:'];

/** Checks the address of a country's proxy. Throws without showing it, as it holds a password. */
export function parseProxyUrl(text: string): string {
  const trimmed = text.trim();
  if (!URL.canParse(trimmed) || !SCHEMES.includes(new URL(trimmed).protocol))
    throw new Error('it must be a URL like http://user:password@proxy.example:3128 (http, https or socks5)');
  return trimmed;
}
