/** The fields of INFO, by name. */
export class Info {
  private readonly values: ReadonlyMap<string, string>;

  constructor(text: string) {
    const pairs = text.split(/\r?\n/).flatMap((line) => {
      const colon = line.indexOf(':');
      return line.startsWith('#') || colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const];
    });
    this.values = new Map(pairs);
  }

  text(name: string): string {
    return this.values.get(name) ?? '';
  }

  /** 0 for a missing field. */
  number(name: string): number {
    return Number.parseFloat(this.text(name)) || 0;
  }

  /** All fields with this prefix, under their names without it. */
  *startingWith(prefix: string): Iterable<readonly [string, string]> {
    for (const [name, value] of this.values) if (name.startsWith(prefix)) yield [name.slice(prefix.length), value];
  }

  /** `db0:keys=1,expires=0` */
  field(name: string, field: string): number {
    return Number(new RegExp(`(?:^|,)${field}=(\\d+)`).exec(this.text(name))?.[1] ?? 0);
  }
}
