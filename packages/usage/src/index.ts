export { type ExporterOptions, type ExportFigures, UsageExporter } from './exporter.js';
export { FileSink, type FileSinkOptions } from './file-sink.js';
export { HttpSink, type HttpSinkOptions } from './http-sink.js';
export { QuotaNames } from './quota-names.js';
export type { Sink } from './sink.js';
export { Spool, type SpooledEvent, type SpoolFile } from './spool.js';
export { KEPT_MS, UsageCounter } from './usage-counter.js';
export { USAGE_EVENT_TYPES, type UsageEvent } from './usage-event.js';
