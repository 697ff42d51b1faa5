import { defaultConfiguration } from '@quotadb/config';
import { describeWithEtcd, EtcdServers } from '@quotadb/wire/testing';
import { afterEach, expect, test, vi } from 'vitest';
import {
  type CertificateFiles,
  certificateFiles,
  createAuthority,
  issueCertificate,
  runProgram,
} from '../testing/index.js';
import { type OpenEtcd, openEtcd } from './open-etcd.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const MAP = {
  revision: 1,
  groups: { red: { slots: '0-16383', members: [{ region: 'eu', host: '127.0.0.1', port: 6381 }] } },
};

describeWithEtcd('an etcd that lets in only those it knows', () => {
  let etcd: EtcdServers;
  let files: CertificateFiles;
  const opened: OpenEtcd[] = [];

  afterEach(async () => {
    for (const { store } of opened.splice(0)) await store.stop();
    await etcd.remove();
    await files.remove();
  });

  function open(settings: object): OpenEtcd {
    const one = openEtcd({ ...defaultConfiguration(), etcdUrls: etcd.urls, ...settings });
    opened.push(one);
    return one;
  }

  test('has the map over TLS, for clients with a certificate, and for users with their password', async () => {
    files = await certificateFiles();
    const authority = createAuthority('etcd tests');
    const ca = await files.write('ca', authority);
    const server = await files.write('server', issueCertificate(authority, 'etcd'));
    const known = await files.write('client', issueCertificate(authority, 'member'));
    const stranger = await files.write('stranger', issueCertificate(createAuthority('others'), 'member'));
    const secure = ['--cert-file', server.certificate, '--key-file', server.key];
    etcd = await EtcdServers.start({
      scheme: 'https',
      // Tokens that end soon: the store has to log in again.
      extraArguments: [...secure, '--client-cert-auth', '--trusted-ca-file', ca.certificate, '--auth-token-ttl', '1'],
    });
    const tls = { etcdAuthority: ca.certificate, etcdCertificate: known.certificate, etcdKey: known.key };
    const { store } = open(tls);
    expect(await store.replace(undefined, MAP)).toBe(true);
    await expect(open({ ...tls, etcdCertificate: '', etcdKey: '' }).store.read()).rejects.toThrow('not reachable');
    const { certificate: etcdCertificate, key: etcdKey } = stranger;
    await expect(open({ ...tls, etcdCertificate, etcdKey }).store.read()).rejects.toThrow('not reachable');
    await expect(open({ ...tls, etcdAuthority: '' }).store.read()).rejects.toThrow(/certificate/);
    expect(() => open({ etcdAuthority: '/none' })).toThrow('--etcd-ca: ENOENT');

    const certified = ['--cacert', ca.certificate, '--cert', known.certificate, '--key', known.key];
    const environment = { ...process.env, ETCDCTL_API: '3' };
    const etcdctl = (...words: string[]) =>
      runProgram('etcdctl', ['--endpoints', etcd.urls[0], ...certified, ...words], { env: environment });
    for (const words of [
      ['user', 'add', 'root:secret'],
      ['user', 'grant-role', 'root', 'root'],
      ['role', 'add', 'quotadb'],
      ['role', 'grant-permission', 'quotadb', '--prefix=true', 'readwrite', '/quotadb/'],
      ['user', 'add', 'quotadb:secret'],
      ['user', 'grant-role', 'quotadb', 'quotadb'],
      ['user', 'add', 'nobody:secret'],
      ['auth', 'enable'],
    ])
      expect(await etcdctl(...words), words.join(' ')).toMatchObject({ code: 0 });

    // With users, etcd's JSON gateway refuses certificates that have a common name.
    await expect(open({ ...tls, etcdUser: 'quotadb', etcdPassword: 'secret' }).store.read()).rejects.toThrow(
      'CommonName',
    );
    const nameless = await files.write('nameless', issueCertificate(authority, ''));
    const user = {
      ...tls,
      etcdCertificate: nameless.certificate,
      etcdKey: nameless.key,
      etcdUser: 'quotadb',
      etcdPassword: 'secret',
    };
    const { store: allowed } = open(user);
    const heard: number[] = [];
    allowed.watch(({ document }) => heard.push(document.revision));
    const before = await allowed.read();
    expect(await allowed.replace(before, { ...MAP, revision: 2 })).toBe(true);
    await allowed.announce('a'.repeat(40), { revision: 2 });
    expect((await allowed.lock('mover'))?.isHeld).toBe(true);
    await expect.poll(() => heard.at(-1), { timeout: 20_000 }).toBe(2);
    await expect(open({ ...user, etcdPassword: 'wrong' }).store.read()).rejects.toThrow('authentication failed');
    await expect(open({ ...user, etcdUser: 'nobody' }).store.read()).rejects.toThrow('permission denied');
    // A restart forgets all tokens.
    await etcd.kill();
    await etcd.startAgain();
    await vi.waitFor(
      async () => expect(await allowed.replace(await allowed.read(), { ...MAP, revision: 3 })).toBe(true),
      {
        timeout: 20_000,
      },
    );
    await expect.poll(() => heard.at(-1), { timeout: 20_000 }).toBe(3);
    await expect
      .poll(() => allowed.members(), { timeout: 20_000 })
      .toEqual(new Map([['a'.repeat(40), { revision: 2 }]]));
  });
});
