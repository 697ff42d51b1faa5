import type { Sink } from './sink.js';
import type { UsageEvent } from './usage-event.js';

export interface HttpSinkOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

const ANSWER_TIMEOUT_MS = 30_000;

/** Posts events in the batch format of CloudEvents, which OpenMeter reads. A reader drops an id that it has seen. */
export class HttpSink implements Sink {
  private readonly options: HttpSinkOptions;

  constructor(options: HttpSinkOptions) {
    this.options = options;
  }

  async deliver(_number: number, events: readonly UsageEvent[], stopped: AbortSignal): Promise<void> {
    const { url, headers, timeoutMs = ANSWER_TIMEOUT_MS } = this.options;
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/cloudevents-batch+json' },
      body: JSON.stringify(events),
      signal: AbortSignal.any([stopped, AbortSignal.timeout(timeoutMs)]),
      redirect: 'error',
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`${new URL(url).origin} answers with ${response.status}`);
  }
}
