import { type Configuration, usesColors } from '@quotadb/config';
import pino, { type Logger } from 'pino';
import { PrettyLines } from './pretty-lines.js';

/**
 * The log on standard error, from `logLevel` up: lines for people at a terminal, JSON elsewhere, unless `logFormat`
 * says which. Synchronous, so that no line is lost at exit.
 */
export function createLogger(config: Configuration, base: object): Logger {
  const isPretty = config.logFormat === 'pretty' || (config.logFormat === 'auto' && process.stderr.isTTY === true);
  const options = { level: config.logLevel, base };
  if (isPretty) return pino(options, new PrettyLines(usesColors(process.stderr, process.env)));
  return pino(options, pino.destination({ fd: 2, sync: true }));
}
