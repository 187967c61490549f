import { TERMINAL_STATES, type TerminalState } from './states.ts';

/** `pending` is tried again; `dead` has used up its attempts; `gone` was ended by the receiver's 410. */
export const DELIVERY_STATES = ['pending', 'delivered', 'dead', 'gone'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** The event that a delivery tells of (design "Webhooks"). */
export type DeliveryType = `job.${TerminalState}`;
export const DELIVERY_TYPES: readonly DeliveryType[] = TERMINAL_STATES.map(deliveryTypeOf);

export function deliveryTypeOf(state: TerminalState): DeliveryType {
  return `job.${state}`;
}
