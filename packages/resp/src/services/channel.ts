/**
 * Requests and answers between two threads. Each side declares its services as a contract and serves each with one
 * handler; the other side asks by name. All requests and answers are plain data. A message alone costs both threads
 * some microseconds, so all that a side says in one go (a round of a lane, a callback of the main thread) leave
 * together, as an array, with `flush`. Until then they must not be changed.
 *
 *   message                    | meaning
 *   ---------------------------|-----------------------------------------------------------
 *   { service, id, request }   | a request; id 0: the sender expects no answer
 *   { id, answer }             | the answer to the request with this id
 */
export type Contract<Services> = {
  readonly [Name in keyof Services]: { readonly ask: unknown; readonly answer: unknown };
};

type Ask<Services, Name extends keyof Services> = Services[Name] extends { readonly ask: infer Request }
  ? Request
  : never;
type Answer<Services, Name extends keyof Services> = Services[Name] extends { readonly answer: infer Result }
  ? Result
  : never;

/** Asks for a service. Without `answered` the request is one-way. */
export type AskService<Services> = <Name extends keyof Services>(
  service: Name,
  request: Ask<Services, Name>,
  answered?: (answer: Answer<Services, Name>) => void,
) => void;

/** One handler for each service; it answers exactly once, now or later. */
export type ServiceHandlers<Services> = {
  readonly [Name in keyof Services]: (
    request: Ask<Services, Name>,
    answered: (answer: Answer<Services, Name>) => void,
  ) => void;
};

export type ChannelMessage =
  | { readonly service: string; readonly id: number; readonly request: unknown }
  | { readonly id: number; readonly answer: unknown };

const ONE_WAY = 0;
const ignore = (): void => {};

/** One end of the connection between two threads: serves `Here` to the other side, and asks it for `There`. */
export class Channel<Here extends Contract<Here>, There extends Contract<There>> {
  private readonly post: (messages: readonly ChannelMessage[]) => void;
  private readonly handlers: ServiceHandlers<Here>;
  private readonly willFlush: () => void;
  private readonly waiting = new Map<number, (answer: never) => void>();
  private outgoing: ChannelMessage[] = [];
  private lastId = ONE_WAY;

  /** `willFlush` is called with the first message after a flush. */
  constructor(
    post: (messages: readonly ChannelMessage[]) => void,
    handlers: ServiceHandlers<Here>,
    willFlush: () => void = ignore,
  ) {
    this.post = post;
    this.handlers = handlers;
    this.willFlush = willFlush;
  }

  readonly ask: AskService<There> = (service, request, answered) => {
    const id = answered === undefined ? ONE_WAY : ++this.lastId;
    if (answered !== undefined) this.waiting.set(id, answered as (answer: never) => void);
    this.send({ service: String(service), id, request });
  };

  receive(messages: readonly ChannelMessage[]): void {
    for (const message of messages) this.hear(message);
  }

  flush(): void {
    if (this.outgoing.length === 0) return;
    const messages = this.outgoing;
    this.outgoing = [];
    this.post(messages);
  }

  private hear(message: ChannelMessage): void {
    const { id } = message;
    if ('service' in message) {
      const handler = this.handlers[message.service as keyof Here];
      handler(message.request as never, id === ONE_WAY ? ignore : (answer) => this.send({ id, answer }));
      return;
    }
    const answered = this.waiting.get(id);
    this.waiting.delete(id);
    answered?.(message.answer as never);
  }

  private send(message: ChannelMessage): void {
    this.outgoing.push(message);
    if (this.outgoing.length === 1) this.willFlush();
  }
}

/** The same on one thread: the handlers are called directly. */
export function askDirectly<Services>(handlers: ServiceHandlers<Services>): AskService<Services> {
  return (service, request, answered) => handlers[service](request, answered ?? ignore);
}
