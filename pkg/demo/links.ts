/** The URL as pages link it that want to know where their readers go. */
export function trackUrl(url: string): string {
  const tracked = new URL(url);
  tracked.searchParams.set('utm_source', 'demo');
  return tracked.href;
}

/** The URL behind the demo's own redirector, as result pages wrap their links. */
export function wrapUrl(url: string): string {
  return `/url?q=${encodeURIComponent(trackUrl(url))}&sa=U&ved=2ahUKE`;
}
