import type { Command } from '../command.js';
import { quotaPeek } from './quota-peek.js';
import { quotaDefine, quotaDrop, quotaInfo, quotaList } from './quota-policies.js';
import { quotaTake } from './quota-take.js';

export const quotaCommands: readonly Command[] = [quotaDefine, quotaDrop, quotaInfo, quotaList, quotaPeek, quotaTake];
