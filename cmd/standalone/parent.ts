const LOOK_EVERY_MS = 500;

/**
 * Turns the loss of the terminal, and where wanted the end of the parent, into the ordinary stop: whoever kills `make`
 * with a signal that it can't pass on expects that nothing stays behind.
 */
export function stopWithParent(watchParent: boolean): void {
  const stop = (): void => void process.kill(process.pid, 'SIGTERM');
  process.once('SIGHUP', stop);
  if (!watchParent) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, LOOK_EVERY_MS);
  timer.unref();
}
