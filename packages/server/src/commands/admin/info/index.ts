import type { Request } from '@quotadb/wire';
import { textArgument } from '../../arguments.js';
import type { Command } from '../../command.js';
import { type InfoSection, infoSections } from './sections.js';

export const info: Command = {
  name: 'info',
  arity: -1,
  flags: ['loading', 'stale'],
  group: 'server',
  summary: 'Facts and figures about the server, by section.',
  since: '1.0.0',
  complexity: 'O(N) where N is the number of sections',
  syntax: '[section [section ...]]',
  run(call) {
    const texts = chosenSections(call.request).map(({ title, lines }) => {
      const content = [...lines(call)].map(([name, value]) => `${name}:${value}\r\n`);
      return `# ${title}\r\n${content.join('')}`;
    });
    call.reply.verbatim(texts.join('\r\n'));
  },
};

/** Sections come in their own order whatever the order they are asked for in; names that are none are ignored. */
function chosenSections(request: Request): readonly InfoSection[] {
  const words = new Set<string>();
  for (let index = 1; index < request.argumentCount; index++) words.add(textArgument(request, index).toLowerCase());
  if (words.has('all') || words.has('everything')) return infoSections;
  const usual = words.size === 0 || words.has('default');
  return infoSections.filter((section) => (usual && section.usual) || words.has(section.name));
}
