import { type Attempted, catalogueReader, type DecideRequest, type Item } from '@quotadb/limits';
import { type Allotment, type CatalogueReader, type Policy, windowAt } from '@quotadb/quota';
import { inside } from '../quotas/mistakes.js';
import type { Mistake } from '../world/cluster.js';
import type { NodeProcess } from '../world/process.js';
import { type LimitService, limitsOf } from './limit-service.js';
import { CREW } from './plan.js';

type Measured = { readonly item: Item; readonly meter: { allotment: Allotment; policy: Policy } };

/** The members of `Attempts` that are closed to other code. */
interface AttemptParts {
  measure(items: readonly Item[]): Measured[];
  take(exact: readonly Measured[]): readonly Measured[];
  takeShadows(measured: readonly Measured[]): readonly Item[];
  peekShadows(measured: readonly Measured[]): void;
  look(items: readonly Item[], measured: readonly Measured[]): Attempted;
}

/** A mistake in the limits of every process. */
function mistake(name: string, plant: (limits: LimitService, process: NodeProcess) => void): Mistake {
  return { name, plant: (process) => plant(limitsOf(process), process) };
}

function attemptsOf({ decider }: LimitService): AttemptParts {
  return inside<{ attempts: AttemptParts }>(decider).attempts;
}

/** Other items are decided on than those that were asked for. */
function replaceItems({ decider }: LimitService, replace: (items: readonly Item[]) => readonly Item[]): void {
  const decide = decider.decide.bind(decider);
  decider.decide = (request: DecideRequest, done) => decide({ ...request, items: replace(request.items) }, done);
}

/** The home makes other policies of a catalogue. */
function replaceDefinitions(
  { book }: LimitService,
  replace: (overrides: Policy['overrides'], nowMs: number) => Policy['overrides'],
): void {
  const definitionsOf: CatalogueReader['definitionsOf'] = (given, nowMs) =>
    catalogueReader
      .definitionsOf(given, nowMs)
      .map((definition) => ({ ...definition, overrides: replace(definition.overrides, nowMs) }));
  const parts = inside<{ options: { catalogue?: CatalogueReader } }>(book);
  parts.options = { ...parts.options, catalogue: { ...catalogueReader, definitionsOf } };
}

/** Rules of parents, of limits in shadow, of overrides and of windows. */
export const LIMIT_MISTAKES: readonly Mistake[] = [
  mistake('a parent is not charged', (limits) => {
    replaceItems(limits, (items) => items.filter(({ name }) => name !== 'org'));
  }),
  mistake('a parent is charged for the subject of its child', (limits) => {
    replaceItems(limits, (items) => items.map((item) => ({ ...item, subject: items[0].subject })));
  }),
  mistake('a denial leaves the limits charged that had enough', (limits) => {
    const parts = attemptsOf(limits);
    const take = parts.take.bind(parts);
    parts.take = (exact) => {
      take(exact);
      return [];
    };
  }),
  mistake('a limit in shadow denies', (limits) => {
    replaceItems(limits, (items) => items.map((item) => ({ ...item, shadow: false })));
  }),
  mistake('a limit in shadow is charged with requests that are denied', (limits) => {
    const parts = attemptsOf(limits);
    parts.peekShadows = (measured) => void parts.takeShadows(measured);
  }),
  mistake('a limit in shadow is not charged', (limits) => {
    attemptsOf(limits).takeShadows = () => [];
  }),
  mistake('overrides are ignored', (limits) => {
    replaceDefinitions(limits, () => undefined);
  }),
  mistake('an override holds from the next window on though it should hold at once', (limits) => {
    replaceDefinitions(limits, (overrides, nowMs) =>
      overrides?.map((override) => ({ ...override, fromMs: override.fromMs ?? nowMs + 1 })),
    );
  }),
  mistake('an override for the next window holds at once', (limits) => {
    replaceDefinitions(limits, (overrides) => {
      const last = new Map(
        overrides?.toSorted((one, other) => (one.fromMs ?? 0) - (other.fromMs ?? 0)).map((one) => [one.subject, one]),
      );
      return overrides && [...last.values()].map(({ subject, limit }) => ({ subject, limit }));
    });
  }),
  mistake('a request is charged to the window that follows', (limits, { engine }) => {
    const parts = attemptsOf(limits);
    const measure = parts.measure.bind(parts);
    parts.measure = (items) => {
      const measured = measure(items);
      for (const { meter } of measured)
        meter.allotment = { ...meter.allotment, window: windowAt(meter.policy, engine.nowMs + 500) };
      return measured;
    };
  }),
  mistake('a crew has no lease of its members', (limits) => {
    replaceItems(limits, (items) => items.filter(({ name }) => name !== CREW));
  }),
  mistake('a lease of a check goes back before its time', ({ leases }) => {
    const { options } = inside<{ options: { monotonicMs(): number } }>(leases);
    inside<{ options: object }>(leases).options = { ...options, monotonicMs: () => options.monotonicMs() + 1000 };
  }),
  mistake('a check that is denied keeps the tokens of its leases', (limits) => {
    const parts = attemptsOf(limits);
    const take = parts.take.bind(parts);
    parts.take = (exact) => {
      const taken = take(exact);
      return taken.filter(({ item }) => item.kind !== 'concurrency' || taken.length === exact.length);
    };
  }),
  mistake('what was looked at is charged', ({ decider }) => {
    const decide = decider.decide.bind(decider);
    decider.decide = (request, done) => decide({ ...request, isPeek: false }, done);
  }),
];
