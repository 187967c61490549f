export { loadPodSettings, parsePodSettings, type PodSettings } from './capturelane/index.ts';
export { startOperator, type Operator, type OperatorOptions } from './operator.ts';
export { openDefinitions, type Definitions } from './definitions.ts';
