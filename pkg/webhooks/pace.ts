/** Keeps what begins from beginning all at once. */
export type Pace = {
  hasRoom(): boolean;
  /** Returns what `end` must be told. */
  begin(): number;
  end(begunIn: number): void;
  /** Calls `onRoom` once there is room because time has passed. */
  waitForRoom(): void;
  close(): void;
};

export type PaceOptions = {
  /** Begun and not ended yet, leaving out those that have proven slow. */
  most: number;
  /** When there is no room for so long, all that runs is slow and takes up room no more. */
  slowAfterMs: number;
  onRoom: () => void;
};

/**
 * Lets few run at once that are quick, and as many as there are that are slow. A quick receiver is served fastest over
 * few connections: with 512 instead of 64 each request costs half as much again, as nothing stays in the processor's
 * cache. A slow receiver needs many.
 */
export function createPace({ most, slowAfterMs, onRoom }: PaceOptions): Pace {
  let period = 0;
  let begun = 0;
  let timer: NodeJS.Timeout | undefined;

  function beginPeriod(): void {
    timer = undefined;
    period += 1;
    begun = 0;
    onRoom();
  }

  return {
    hasRoom: () => begun < most,
    begin: () => {
      begun += 1;
      return period;
    },
    end: (begunIn) => {
      if (begunIn === period) begun -= 1;
    },
    waitForRoom: () => {
      timer ??= setTimeout(beginPeriod, slowAfterMs);
    },
    close: () => clearTimeout(timer),
  };
}
