import type { Request } from '@quotadb/wire';
import { askLanes } from '../../../questions/ask-lanes.js';
import { textArguments } from '../../../request/arguments.js';
import { defineCommand } from '../../../session/define.js';
import { addFigures } from '../../../statistics/figures.js';
import { type InfoSection, infoSections } from './sections.js';

export const info = defineCommand({
  name: 'info',
  arity: -1,
  flags: ['loading', 'stale'],
  group: 'server',
  summary: 'Facts and figures about the server, by section.',
  since: '1.0.0',
  complexity: 'O(N) where N is the number of sections',
  syntax: '[section [section ...]]',
  run(call) {
    const sections = chosenSections(call.request);
    askLanes(call, 'figures', null, (resumed, lanes) => {
      const figures = addFigures(lanes);
      const texts = sections.map(({ title, lines }) => {
        const content = [...lines(resumed, figures)].map(([name, value]) => `${name}:${value}\r\n`);
        return `# ${title}\r\n${content.join('')}`;
      });
      resumed.reply.verbatim(texts.join('\r\n'));
    });
  },
});

/** Sections come in Redis's order, not in that of the arguments; unknown names are ignored. */
function chosenSections(request: Request): readonly InfoSection[] {
  const words = new Set(textArguments(request, 1).map((word) => word.toLowerCase()));
  if (words.has('all') || words.has('everything')) return infoSections;
  const usual = words.size === 0 || words.has('default');
  return infoSections.filter((section) => (usual && section.usual) || words.has(section.name));
}
