/** A Dockerfile as instructions, as far as tests want to know it. */
interface Instruction {
  readonly name: string;
  readonly rest: string;
}

interface Stage {
  readonly image: string;
  readonly name: string;
  readonly instructions: readonly Instruction[];
}

export function parseDockerfile(text: string): readonly Stage[] {
  const stages: { image: string; name: string; instructions: Instruction[] }[] = [];
  for (const { name, rest } of instructionsOf(text)) {
    if (name === 'FROM') {
      const [image, as, stage] = rest.split(/\s+/);
      // A stage that goes on from another has its instructions too.
      const before = stages.find((other) => other.name === image);
      stages.push({
        image: before?.image ?? image,
        name: as?.toUpperCase() === 'AS' ? stage : '',
        instructions: [...(before?.instructions ?? [])],
      });
    } else {
      const stage = stages.at(-1);
      if (stage === undefined) throw new Error(`${name} in front of FROM`);
      stage.instructions.push({ name, rest });
    }
  }
  return stages;
}

/** The value of an instruction in exec form: `["node", "x"]`. */
export function execForm(rest: string): readonly string[] {
  const words: unknown = JSON.parse(rest.slice(rest.indexOf('[')));
  if (!Array.isArray(words) || !words.every((word) => typeof word === 'string'))
    throw new Error(`no exec form: ${rest}`);
  return words;
}

export function all({ instructions }: Stage, name: string): readonly string[] {
  return instructions.filter((instruction) => instruction.name === name).map(({ rest }) => rest);
}

export function only(stage: Stage, name: string): string {
  const found = all(stage, name);
  if (found.length !== 1) throw new Error(`${found.length} times ${name}`);
  return found[0];
}

/** KEY=value pairs of ENV. */
export function environmentOf(stage: Stage): Readonly<Record<string, string>> {
  const pairs = all(stage, 'ENV').flatMap((rest) => [...rest.matchAll(/(\w+)=("[^"]*"|\S+)/g)]);
  return Object.fromEntries(pairs.map(([, key, value]) => [key, value.replaceAll('"', '')]));
}

function* instructionsOf(text: string): Iterable<Instruction> {
  let line = '';
  for (const physical of text.split('\n')) {
    if (/^\s*#/.test(physical) || (physical.trim() === '' && line === '')) continue;
    line += physical.replace(/\\\s*$/, ' ');
    if (/\\\s*$/.test(physical)) continue;
    const found = /^\s*([A-Z]+)\s+(.*)$/s.exec(line);
    if (found === null) throw new Error(`no instruction: ${line}`);
    yield { name: found[1], rest: found[2].trim() };
    line = '';
  }
}
