export { createLaneController, type LaneControllerDeps } from './controller.ts';
export { loadPodSettings, parsePodSettings, type PodSettings } from './pod-settings.ts';
