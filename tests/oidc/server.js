// SPDX-License-Identifier: Apache-2.0
// An OIDC issuer (npm oidc-provider) for tests.
//
// server.js PORT CERTIFICATE KEY KEY_ID
//
// Signs with a new ES256 key KEY_ID. Prints "ready" when it listens. A line "approve CODE ACCOUNT" on
// standard input does what a person does in a browser: it signs in and accepts the user code.
import crypto from 'node:crypto';
import fs from 'node:fs';
import https from 'node:https';
import readline from 'node:readline';

import Provider from 'oidc-provider';

const [port, certificate, key, keyId] = process.argv.slice(2);
const signingKey = {
  ...crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
  kid: keyId,
  alg: 'ES256',
  use: 'sig',
};

const provider = new Provider(`https://localhost:${port}`, {
  jwks: { keys: [signingKey] },
  clients: [
    {
      client_id: 'fabricctl',
      token_endpoint_auth_method: 'none',
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
      response_types: [],
      redirect_uris: [],
      id_token_signed_response_alg: 'ES256',
    },
    {
      client_id: 'other',
      token_endpoint_auth_method: 'none',
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
      response_types: [],
      redirect_uris: [],
      id_token_signed_response_alg: 'ES256',
    },
  ],
  features: { deviceFlow: { enabled: true }, devInteractions: { enabled: false } },
  claims: { openid: ['sub'], groups: ['groups'] },
  conformIdTokenClaims: false,
  findAccount: (_context, id) => ({
    accountId: id,
    claims: () => ({ sub: id, groups: id === 'alice' ? ['network-team'] : [] }),
  }),
  ttl: { IdToken: 600, AccessToken: 600, DeviceCode: 120, Grant: 600 },
});

async function approve(userCode, account) {
  const code = await provider.DeviceCode.findByUserCode(userCode.replace(/[^A-Z0-9]/gi, ''));
  const grant = new provider.Grant({ accountId: account, clientId: code.clientId });
  grant.addOIDCScope(code.params.scope);
  code.accountId = account;
  code.grantId = await grant.save(600);
  code.scope = code.params.scope;
  code.authTime = Math.floor(Date.now() / 1000);
  await code.save(120);
  console.log('approved');
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const [word, userCode, account] = line.split(' ');
  if (word === 'approve') approve(userCode, account).catch((error) => console.log(String(error)));
});

https
  .createServer({ cert: fs.readFileSync(certificate), key: fs.readFileSync(key) }, provider.callback())
  .listen(Number(port), '127.0.0.1', () => console.log('ready'));
