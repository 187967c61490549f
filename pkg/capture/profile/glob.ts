/**
 * A URL glob as a regular expression: `*` matches within a path segment, `**` across them. All other characters stand
 * for themselves, `?` too, as it is part of URLs.
 */
export function globToRegExp(glob: string): RegExp {
  const source = glob.replace(/\*\*|\*|[.+?^$()|[\]{}\\]/g, (token) => {
    if (token === '**') return '.*';
    return token === '*' ? '[^/]*' : `\\${token}`;
  });
  return new RegExp(`^${source}$`, 's');
}
