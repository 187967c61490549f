/** Who must wait for others of the same account. */
type Lines = {
  /** Resolves when it is one's turn; whoever is in must leave. */
  enter(accountId: string): Promise<void>;
  leave(accountId: string): void;
};

/** Lets `most` of each account in at once, the others in the order in which they came. */
export function createLines(most: number): Lines {
  const lines = new Map<string, { inside: number; waiting: (() => void)[] }>();
  return {
    enter: (accountId) => {
      const line = lines.get(accountId) ?? { inside: 0, waiting: [] };
      lines.set(accountId, line);
      if (line.inside < most) {
        line.inside += 1;
        return Promise.resolve();
      }
      return new Promise((letIn) => line.waiting.push(() => letIn()));
    },
    leave: (accountId) => {
      const line = lines.get(accountId);
      if (line === undefined) return;
      const next = line.waiting.shift();
      if (next !== undefined) next();
      else line.inside -= 1;
      if (line.inside === 0) lines.delete(accountId);
    },
  };
}
