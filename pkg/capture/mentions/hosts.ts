import { parse } from 'tldts';

/** A host on the public internet. `label` is what its owner chose: `acme` of `shop.acme.co.uk`. */
export type Host = { hostname: string; domain: string; label: string };

/** The host of a URL or bare domain, `www.` dropped; null when its suffix is on no list: `Node.js` is no domain. */
export function readHost(text: string): Host | null {
  if (/\s/.test(text)) return null;
  // Private suffixes count, as the owner of acme.github.io is acme.
  const { hostname, domain, domainWithoutSuffix, isIcann, isPrivate } = parse(text, { allowPrivateDomains: true });
  const isListed = isIcann === true || isPrivate === true;
  if (!isListed || hostname === null || domain === null || domainWithoutSuffix === null) return null;
  return { hostname: hostname.replace(/^www\./, ''), domain, label: domainWithoutSuffix };
}

/** True for the host itself and all below it. */
export function isWithin(hostname: string, parent: string): boolean {
  return hostname === parent || hostname.endsWith(`.${parent}`);
}

/** The spelling that URLs have: `müller.de` is `xn--mller-kva.de`. */
export function toAscii(hostname: string): string {
  return URL.parse(`http://${hostname}`)?.hostname ?? hostname;
}

/** Letters and digits in lower case, so that `Coca-Cola`, `Coca Cola` and `coca-cola` of a host are one. */
export function squeeze(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]/gu, '');
}
