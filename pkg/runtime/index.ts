export { pause, systemClock, type Clock } from './clock.ts';
export { gather } from './gather.ts';
export { startLoop, type Loop } from './loop.ts';
export { DeadlineError, runProcess, withDeadline, type Lifetime } from './process.ts';
export { runCommand } from './command.ts';
export { ensureProgram, findProgram, type Machine, type Program } from './programs.ts';
