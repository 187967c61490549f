/** One measured ratio. Figures are of this run on this machine; only the ratio is worth comparing. */
export type Row = { name: string; ours: number; bare: number; unit: string; atMost?: number; atLeast?: number };

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}

/** Prints the rows, and whether each ratio is where it is wanted. Nothing fails: a bench tells, it does not judge. */
export function printTable(rows: readonly Row[]): void {
  for (const { name, ours, bare, unit, atMost, atLeast } of rows) {
    const ratio = ours / bare;
    const wanted = atMost === undefined ? `at least ${atLeast ?? 0}x` : `at most ${atMost}x`;
    const met = (atMost === undefined || ratio <= atMost) && (atLeast === undefined || ratio >= atLeast);
    console.log(
      `${met ? 'met   ' : 'missed'}  ${ratio.toFixed(2)}x (${wanted})  ${name}: ${ours.toFixed(1)} ${unit} / ${bare.toFixed(1)} ${unit}`,
    );
  }
}
