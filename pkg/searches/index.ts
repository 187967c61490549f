export {
  acceptSearches,
  acceptSearchesIn,
  type Accepted,
  type AcceptDeps,
  type Acceptor,
  type NewSearch,
  type Verdict,
} from './accept.ts';
export { abandonSearch, cancelSearch } from './cancel.ts';
export { claimCapture, renewLease, requeueCapture, type Claim } from './claim.ts';
export { SEARCH_CANCELED, SEARCH_ENDED } from './end.ts';
export { gatherSubmits } from './gather.ts';
export { listJobs } from './list.ts';
export { findBrokenInvariants } from './invariants.ts';
export { chooseMethod, measureSearch } from './plan.ts';
export { previewEnvelope } from './preview.ts';
export { readChild, readEnvelopes, readJobState, readParent } from './read.ts';
export { MAX_ATTEMPTS, settleCapture, type StoredProof } from './settle.ts';
export { announceDue, expireDue, forgetKeys, rescueLost } from './sweep.ts';
export {
  submitBatch,
  submitSearch,
  type BatchVerdict,
  type LaneFacts,
  type SubmitDeps,
  type Submitter,
} from './submit.ts';
export { createWaiters, type Waiters } from './wait.ts';
