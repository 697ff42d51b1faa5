import type { PartialDefinition } from '@quotadb/quota';
import { SERVER_NAME } from '@quotadb/wire';
import { duration } from '../kinds/duration.js';
import { integer, list, quotaDefinitions, size, text } from '../kinds/kinds.js';
import { GIBIBYTE, MAXIMUM_INT32, MEBIBYTE, setting } from './setting.js';

/** Settings of rate limits, quotas and scripts. */
export const limitsSettings = {
  busyReplyThresholdMs: setting({
    flag: 'busy-reply-threshold',
    kind: duration('milliseconds', 0, MAXIMUM_INT32),
    default: 5000,
    help:
      'once a script has run for this long, clients that need its keys get BUSY and SCRIPT KILL can end ' +
      'it; 0 is never',
    parameter: 'busy-reply-threshold',
    parameterAlias: 'lua-time-limit',
    changeable: true,
  }),
  ratePublishPercent: setting({
    flag: 'rate-publish-threshold',
    kind: integer('percent', 0, 100),
    default: 20,
    help:
      'the counts of a rate limit are published to other regions and the disk once they reach this share of the ' +
      'limit, or 100 / regions percent of it where that is less; below it they are in memory only. ' +
      '0 publishes all counts',
    parameter: 'rate-publish-threshold',
    changeable: true,
  }),
  home: setting({
    flag: 'home',
    kind: text(
      'name',
      new RegExp(`^$|${SERVER_NAME.source}`),
      'the name of a region, or of a member such as us/a; empty for the first by name',
    ),
    default: '',
    help:
      'the region where quota policies are defined, or one member of it, the same for all regions: of a region with ' +
      'members it is the first by name; without it the first by name of this server and its --peer servers',
  }),
  limitsFile: setting({
    flag: 'limits',
    kind: text('file', /^[^\0]*$/, 'the path of a YAML or JSON file'),
    default: '',
    help:
      'a catalogue of limits, YAML or JSON (docs/limits.md), read in the home region at the start, when it changes ' +
      'and on SIGHUP; one with mistakes is logged and the limits stay as they are; empty for none',
  }),
  quotas: setting({
    flag: 'quota',
    kind: quotaDefinitions(),
    default: [] as readonly PartialDefinition[],
    help: 'a quota policy, in the syntax of QUOTA.DEFINE; used in the home region; may be given several times',
  }),
  usageExport: setting({
    flag: 'usage-export',
    kind: text('file or url', /^[^\0]*$/, 'the path of a file, or http://… or https://…; empty for none'),
    default: '',
    help:
      'export what was taken from quotas and admitted by fixed limits in this region, each closed window of each ' +
      'subject once, as CloudEvents: appended to a file as JSON lines, or posted to an address',
  }),
  usageExportHeaders: setting({
    flag: 'usage-export-header',
    kind: list('name=value', 'a header, name=value; may be given several times'),
    default: [] as readonly string[],
    help: 'a header for the address of --usage-export, such as an API key',
    secret: true,
  }),
  usageExportRotateBytes: setting({
    flag: 'usage-export-rotate',
    kind: size(4096, 1024 * GIBIBYTE),
    default: 64 * MEBIBYTE,
    help: 'a file of --usage-export that has grown to this is renamed with the time, and a new one begun',
  }),
  usageExportSpoolBytes: setting({
    flag: 'usage-export-spool',
    kind: size(4096, 1024 * GIBIBYTE),
    default: GIBIBYTE,
    help:
      'how much usage waits on disk while the target of --usage-export is away; beyond it usage waits in memory, for ' +
      'seven days',
  }),
};
