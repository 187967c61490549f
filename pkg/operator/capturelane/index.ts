export { createLaneController, type LaneControllerDeps, type OperatorController } from './controller.ts';
export { loadPodSettings, parsePodSettings, type PodSettings } from './pod-settings.ts';
