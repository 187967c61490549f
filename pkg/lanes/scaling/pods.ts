/** What is known of one pod of a lane: from the cluster, and from its own reports. */
export type PodState = {
  name: string;
  ready: boolean;
  terminating: boolean;
  /** It has told of itself lately. Of a ready pod that has not, nobody knows what it does. */
  reports: boolean;
  /** How many captures it runs. 0 for a pod that has not come up yet. */
  busy: number;
  /** It has said that it takes no more captures. Only then can it not become busy again. */
  drained: boolean;
  /** It was told to take no more captures. */
  cordoned: boolean;
};
