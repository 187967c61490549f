/** What the launcher says to the person who started it. */
export type Terminal = {
  /** One line of progress, with the seconds since the start. */
  say: (line: string) => void;
  /** Lines as they are. */
  print: (text: string) => void;
};

export function createTerminal(startedMs: number, nowMs: () => number, write: (text: string) => void): Terminal {
  return {
    say: (line) => {
      const seconds = ((nowMs() - startedMs) / 1000).toFixed(1).padStart(6);
      write(`${seconds} s  ${line}\n`);
    },
    print: (text) => write(`${text}\n`),
  };
}

/** The last words of a start: where it is, the key, and a command that works when it is pasted. */
export function summarize(facts: {
  baseUrl: string;
  key: string;
  accountId: string;
  demoUrl: string;
  lanesDir: string;
  logs: string;
}): string {
  const { baseUrl, key, accountId, demoUrl, lanesDir, logs } = facts;
  const body = JSON.stringify({ query: 'Which city bikes are best?', surfaces: ['assistant_one'] });
  return `
Search Capture Service is running.

  Address   ${baseUrl}
  API key   ${key}  (account ${accountId})
  Engines   ${demoUrl}  (simulated)
  Lanes     ${lanesDir}
  Logs      ${logs}

Try it:

  curl -s ${baseUrl}/v1/search -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'

Ctrl-C stops everything. The data stays in .local and is there at the next start.
`;
}
