import type { SecureContextOptions, TlsOptions } from 'node:tls';
import type { PublishedPolicies } from '../services/lane-quotas.js';
import type { QuestionName, Questions } from '../session/questions.js';

/** The server's certificate, which may be replaced while it runs. */
export interface CertificateSource {
  options(): TlsOptions;
  /** Sets renewed certificates on this server from now on. */
  keepCurrent(server: { setSecureContext(options: SecureContextOptions): void }): void;
}

/** Moves bytes between clients and sessions. */
export interface Transport {
  /** As the ready line names it. */
  readonly name: string;
  /** Threads that serve clients. */
  readonly laneCount: number;
  /** Starts accepting; resolves to the port, which differs from the one asked for only where that was 0. */
  listen(host: string, port: number): Promise<number>;
  /** Call before another thread uses the store; resolves when every lane takes locks. */
  share(): Promise<void>;
  /** The same for clients that use TLS, beside the others. */
  listenSecurely(host: string, port: number, certificates: CertificateSource): Promise<number>;
  /** The answers of every lane; none while it is closing. */
  ask<Name extends QuestionName>(
    name: Name,
    question: Questions[Name]['ask'],
  ): Promise<readonly Questions[Name]['answer'][]>;
  /** Replaces the quota policies in every lane. */
  replacePolicies(published: PublishedPolicies): void;
  /** The disk has finished a flush: wakes the lanes that wait for it. */
  diskReleased(): void;
  /** A peer has acknowledged changes: wakes the lanes for clients in WAIT. */
  peersAcknowledged(): void;
  /** Stops accepting, runs the commands that were read, sends the replies and closes, within about this time. */
  close(withinMs: number): Promise<void>;
}
