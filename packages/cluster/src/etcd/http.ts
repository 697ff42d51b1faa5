import { type Agent, type ClientRequest, request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import type { SecureContextOptions } from 'node:tls';
import { EtcdUnreachable } from './errors.js';

/** A map has at most 1 MiB, the statements of all members fewer than 4 MiB, and Base64 is a third more. */
const MAXIMUM_ANSWER_BYTES = 8 * 1024 * 1024;

export interface HttpCall {
  readonly url: URL;
  readonly path: string;
  readonly body: object;
  readonly token: string | undefined;
  readonly tls: SecureContextOptions | undefined;
  readonly agent: Agent;
  /** The whole answer, or the first line of one that goes on, has to be here by then. */
  readonly deadlineMs: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

/** One answer of one etcd member. Rejects with EtcdUnreachable. */
export function post(call: HttpCall): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void => {
      clearTimeout(timer);
      reject(new EtcdUnreachable(reason));
      request.destroy();
    };
    const timer = setTimeout(() => fail(`has not answered within ${call.deadlineMs} ms`), call.deadlineMs);
    const request = begin(call, fail);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        length += chunk.length;
        if (length > MAXIMUM_ANSWER_BYTES) fail(`has answered with more than ${MAXIMUM_ANSWER_BYTES} bytes`);
      });
      response.on('error', (error) => fail(error.message));
      response.on('aborted', () => fail('has ended its answer in the middle'));
      response.on('end', () => {
        clearTimeout(timer);
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() });
      });
    });
  });
}

/** An answer that goes on, line by line. */
export interface LineStream {
  readonly ended: Promise<void>;
  close(): void;
}

/** It ends with the first thing that is not as it should be. */
export function openStream(call: HttpCall, received: (line: string) => void): LineStream {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const finish = (): void => {
    clearTimeout(timer);
    end();
    request.destroy();
  };
  const timer = setTimeout(finish, call.deadlineMs);
  const request = begin(call, finish);
  request.on('response', (response) => {
    if (response.statusCode !== 200) return finish();
    let rest = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      const [first, ...lines] = chunk.split('\n');
      lines.unshift(rest + first);
      rest = lines.pop() ?? '';
      if (rest.length > MAXIMUM_ANSWER_BYTES) return finish();
      for (const line of lines) {
        clearTimeout(timer);
        received(line);
      }
    });
    response.on('error', finish);
    response.on('close', finish);
  });
  return { ended, close: finish };
}

function begin({ url, path, body, token, tls, agent }: HttpCall, failed: (reason: string) => void): ClientRequest {
  const text = JSON.stringify(body);
  const options = {
    agent,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      ...(token !== undefined && { authorization: token }),
    },
  };
  const to = new URL(path, url);
  const request = url.protocol === 'https:' ? requestSecure(to, { ...options, ...tls }) : requestPlain(to, options);
  request.on('error', (error) => failed(error.message));
  request.end(text);
  return request;
}
