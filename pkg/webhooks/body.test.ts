import { describe, expect, it } from '@jest/globals';
import { TERMINAL_STATES, type CaptureState, type Envelope, type Region } from '../contract/index.ts';
import { buildDelivery } from './body.ts';

const PARENT = 'job_01j00000000000000000000000';

function makeEnvelope(status: CaptureState, region: Region | null = { country: 'DE', city: 'Berlin' }): Envelope {
  return {
    job: {
      id: `${PARENT}.assistant_one.de:berlin`,
      status,
      warnings: [],
      parentId: PARENT,
      surface: 'assistant_one',
      query: 'what is new?',
      createdAt: '2026-03-01T12:00:00.000Z',
      startedAt: '2026-03-01T12:00:01.000Z',
      completedAt: '2026-03-01T12:00:09.000Z',
      attempts: 1,
    },
    provenance: {
      model: { providerId: null, observedLabel: null, inferred: false, confidence: null },
      webSearch: null,
      surfacePresent: true,
      region: { requested: region, effective: null },
      schemaVersion: '2026-06-27',
    },
    answer: { text: 'Ärger 🦊', markdown: 'Ärger 🦊', blocks: [] },
    evidence: { sources: [], fanOut: { provenance: 'none', queries: [] }, mentions: null, shopping: null, ads: null },
    credits: { creditsToCharge: 5, creditsCharged: 5 },
  };
}

function build(envelope: Envelope): string {
  return buildDelivery({ eventId: 'evt_1', envelope, createdAt: '2026-03-01T12:00:10.000Z' }).body;
}

describe('buildDelivery', () => {
  it('carries the envelope unchanged, with the event around it', () => {
    const envelope = makeEnvelope('completed');
    expect(JSON.parse(build(envelope))).toEqual({
      id: 'evt_1',
      type: 'job.completed',
      createdAt: '2026-03-01T12:00:10.000Z',
      job: {
        id: envelope.job.id,
        parentId: PARENT,
        surface: 'assistant_one',
        region: 'de:berlin',
        status: 'completed',
      },
      result: envelope,
      credits: { creditsToCharge: 5, creditsCharged: 5 },
    });
  });

  it.each(TERMINAL_STATES)('names the event of a %s capture after its state', (state) => {
    expect(JSON.parse(build(makeEnvelope(state)))).toMatchObject({ type: `job.${state}`, job: { status: state } });
  });

  it('calls an untargeted region GLOBAL', () => {
    expect(JSON.parse(build(makeEnvelope('completed', null)))).toMatchObject({ job: { region: 'GLOBAL' } });
  });

  it.each(['queued', 'running'] as const)('refuses a %s capture', (state) => {
    expect(() => build(makeEnvelope(state))).toThrow('has not ended');
  });
});
