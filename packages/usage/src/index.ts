export { UsageExporter } from './exporter.js';
export { FileSink } from './file-sink.js';
export { HttpSink } from './http-sink.js';
export { QuotaNames } from './quota-names.js';
export type { Sink } from './sink.js';
export { Spool } from './spool.js';
export { UsageCounter } from './usage-counter.js';
export type { UsageEvent } from './usage-event.js';
