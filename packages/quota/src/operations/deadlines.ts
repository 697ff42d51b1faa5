/** A deadline is processed between its time and twice this after it. */
const STEP_MS = 100;

/** Deadlines that can be changed, by name. A name has one place in the schedule, however often its time changes. */
export class Deadlines {
  /** In steps. */
  private readonly dueAt = new Map<string, number>();
  private readonly placedAt = new Map<string, number>();
  private readonly schedule = new Map<number, Set<string>>();
  private doneUpTo: number;

  constructor(nowMs: number) {
    this.doneUpTo = Math.floor(nowMs / STEP_MS);
  }

  set(name: string, atMs: number): void {
    // One that has passed already is due at the next look.
    const step = Math.max(Math.ceil(atMs / STEP_MS), this.doneUpTo);
    this.dueAt.set(name, step);
    // It has an earlier place already, and is moved when that comes.
    if ((this.placedAt.get(name) ?? Number.POSITIVE_INFINITY) <= step) return;
    this.unplace(name);
    this.place(name, step);
  }

  /** Removes all of it: deadlines that are settled long before their time must not pile up until then. */
  delete(name: string): void {
    this.dueAt.delete(name);
    this.unplace(name);
  }

  /** Removes every deadline that is due, and passes it on. */
  pass(nowMs: number, isDue: (name: string) => void): void {
    const upTo = Math.floor(nowMs / STEP_MS);
    for (let step = this.doneUpTo; step < upTo && this.schedule.size > 0; step++) {
      const names = this.schedule.get(step) ?? [];
      this.schedule.delete(step);
      for (const name of names) this.look(name, step, isDue);
    }
    this.doneUpTo = upTo;
  }

  private look(name: string, step: number, isDue: (name: string) => void): void {
    const due = this.dueAt.get(name);
    this.placedAt.delete(name);
    if (due === undefined) return;
    if (due > step) {
      this.place(name, due);
      return;
    }
    this.dueAt.delete(name);
    isDue(name);
  }

  private place(name: string, step: number): void {
    this.placedAt.set(name, step);
    const names = this.schedule.get(step);
    if (names === undefined) this.schedule.set(step, new Set([name]));
    else names.add(name);
  }

  private unplace(name: string): void {
    const step = this.placedAt.get(name);
    if (step === undefined) return;
    this.placedAt.delete(name);
    const names = this.schedule.get(step);
    names?.delete(name);
    if (names?.size === 0) this.schedule.delete(step);
  }
}
