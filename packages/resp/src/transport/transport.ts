import type { SecureContextOptions, TlsOptions } from 'node:tls';
import type { Policy } from '@quotadb/quota';
import type { QuestionName, Questions } from '../session/questions.js';

/** The server's certificate, which may be replaced while it runs. */
export interface CertificateSource {
  options(): TlsOptions;
  /** Gives this server new certificates when there are some. */
  keepCurrent(server: { setSecureContext(options: SecureContextOptions): void }): void;
}

/** What carries bytes between clients and sessions. */
export interface Transport {
  /** As the ready line names it. */
  readonly name: string;
  /** Threads that serve clients. */
  readonly laneCount: number;
  /** Starts accepting; resolves to the port, which differs from the one asked for only where that was 0. */
  listen(host: string, port: number): Promise<number>;
  /** Another thread is about to use the store; resolves when every lane takes locks. */
  share(): Promise<void>;
  /** The same for clients that use TLS, beside the others. */
  listenSecurely(host: string, port: number, certificates: CertificateSource): Promise<number>;
  /** The answers of every lane; none while it is closing. */
  ask<Name extends QuestionName>(
    name: Name,
    question: Questions[Name]['ask'],
  ): Promise<readonly Questions[Name]['answer'][]>;
  /** These are the quota policies from now on. */
  replacePolicies(policies: readonly Policy[]): void;
  /** The disk ended a piece of work: clients that wait for it may go on. */
  diskReleased(): void;
  /** A peer has acknowledged changes: clients in WAIT may go on. */
  peersAcknowledged(): void;
  /** Stops accepting, answers everything that was read, sends the replies and closes; never takes much longer than this. */
  close(withinMs: number): Promise<void>;
}
