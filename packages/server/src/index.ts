export { commands } from './commands/table.js';
export { environmentVariable, type Setting, settingNames, settingOf } from './config/table.js';
