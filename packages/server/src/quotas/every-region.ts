import type { QuotaAnswer } from '@quotadb/resp';

/** What regions answered, and the regions that did not, or with an error. */
export interface RegionAnswers {
  readonly values: ReadonlyMap<string, unknown>;
  readonly missing: readonly string[];
}

/** Asks several regions at once, and waits this long for the slowest of them. */
export function askRegions(
  regions: readonly string[],
  ask: (region: string, answered: (answer: QuotaAnswer) => void) => void,
  withinMs: number,
  done: (answers: RegionAnswers) => void,
): void {
  const values = new Map<string, unknown>();
  let waitingFor = regions.length;
  const finish = () => {
    if (waitingFor < 0) return;
    waitingFor = -1;
    clearTimeout(timer);
    done({ values, missing: regions.filter((region) => !values.has(region)) });
  };
  const timer = setTimeout(finish, withinMs);
  timer.unref();
  if (waitingFor === 0) finish();
  for (const region of regions)
    ask(region, (answer) => {
      if (waitingFor < 0) return;
      if ('value' in answer) values.set(region, answer.value);
      if (--waitingFor === 0) finish();
    });
}
