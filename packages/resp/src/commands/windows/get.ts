import { defineCommand } from '../../session/define.js';
import { cell, chooseWindow, replyWindow } from './window-arguments.js';

const OPTIONS = 3;

export const windowGet = defineCommand({
  name: 'window.get',
  arity: -3,
  flags: ['readonly', 'fast'],
  keys: [1, 1, 1],
  group: 'window',
  summary:
    "Returns the count of a fixed window of time, 0 where nothing was counted, with the window's start and its end.",
  since: 'quotadb 0.1.0',
  syntax: 'key window [START start-ms]',
  run: (call) => {
    if (!chooseWindow(call, OPTIONS)) return;
    const { input, argumentStart, argumentLength } = call.request;
    cell.read(call.engine, input, argumentStart[1], argumentLength[1]);
    replyWindow(call);
  },
});
