/** Owns the fields of everything that the controller applies. */
export const FIELD_MANAGER = 'search-capture-controller';
/** Owns `spec.replicas` of the lanes' Deployments, and nothing else: what applies a Deployment never says how many. */
export const SCALER_FIELD_MANAGER = 'search-capture-scaler';

export const LABELS = {
  name: 'app.kubernetes.io/name',
  instance: 'app.kubernetes.io/instance',
  component: 'app.kubernetes.io/component',
  managedBy: 'app.kubernetes.io/managed-by',
  lane: 'searchcapture.io/lane',
  surface: 'searchcapture.io/surface',
} as const;
