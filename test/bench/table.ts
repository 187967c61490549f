/** One measured ratio. Figures are of this run on this machine; only the ratio is worth comparing. */
export type Row = {
  name: string;
  ours: number;
  bare: number;
  unit: string;
  /** Wanted ratios; or how much more than the other it may be. */
  atMost?: number;
  atLeast?: number;
  atMostMore?: number;
};

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}

/** Prints the rows, and whether each ratio is where it is wanted. Nothing fails: a bench tells, it does not judge. */
export function printTable(rows: readonly Row[]): void {
  for (const row of rows) {
    const { name, ours, bare, unit } = row;
    const { met, wanted, found } = judge(row);
    console.log(
      `${met ? 'met   ' : 'missed'}  ${found} (${wanted})  ${name}: ${ours.toFixed(1)} ${unit} / ${bare.toFixed(1)} ${unit}`,
    );
  }
}

function judge({ ours, bare, unit, atMost, atLeast, atMostMore }: Row): {
  met: boolean;
  wanted: string;
  found: string;
} {
  const ratio = ours / bare;
  const found = `${ratio.toFixed(2)}x`;
  if (atMostMore !== undefined) {
    const more = ours - bare;
    return { met: more <= atMostMore, wanted: `at most +${atMostMore} ${unit}`, found: `+${more.toFixed(0)} ${unit}` };
  }
  if (atMost !== undefined) return { met: ratio <= atMost, wanted: `at most ${atMost}x`, found };
  return { met: ratio >= (atLeast ?? 0), wanted: `at least ${atLeast ?? 0}x`, found };
}
