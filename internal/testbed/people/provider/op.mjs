// A certified OpenID provider for tests: whom the header X-Who names is signed in without a question, and /mint signs
// whatever a test wants signed. Usage: node op.mjs REDIRECT_URI. It prints its port when it listens.
import Provider from "oidc-provider";
import * as jose from "jose";
import { once } from "node:events";
import { createServer } from "node:http";

const [redirect] = process.argv.slice(2);
const groups = { ana: ["operators"], bo: ["admins", "operators"], cy: [] };

async function pair() {
  const { privateKey } = await jose.generateKeyPair("RS256", { extractable: true });
  return { privateKey, jwk: { ...(await jose.exportJWK(privateKey)), use: "sig", alg: "RS256", kid: "one" } };
}
const own = await pair();
const foreign = await pair();

const server = createServer();
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address();
const issuer = `http://127.0.0.1:${port}`;

const page = (form) => `<!doctype html><body>${form}</body>`;
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "hale",
      client_secret: process.env.CLIENT_SECRET,
      redirect_uris: [redirect],
      grant_types: ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"],
    },
  ],
  jwks: { keys: [own.jwk] },
  pkce: { required: () => true },
  scopes: ["openid", "groups"],
  claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
  features: {
    devInteractions: { enabled: false },
    deviceFlow: {
      enabled: true,
      userCodeInputSource: (ctx, form) => { ctx.body = page(form); },
      userCodeConfirmSource: (ctx, form) => { ctx.body = page(form); },
      successSource: (ctx) => { ctx.body = page("done"); },
    },
  },
  interactions: { url: (_, i) => `/interaction/${i.uid}` },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: id !== "mallory", groups: groups[id] ?? [] }),
  }),
  loadExistingGrant: async (ctx) => {
    const grant = new ctx.oidc.provider.Grant({
      clientId: ctx.oidc.client.clientId,
      accountId: ctx.oidc.session.accountId,
    });
    grant.addOIDCScope("openid email groups");
    await grant.save();
    return grant;
  },
});

const serve = provider.callback();
server.on("request", async (req, res) => {
  if (req.url.startsWith("/interaction/")) {
    await provider.interactionFinished(req, res, { login: { accountId: req.headers["x-who"] } });
    return;
  }
  if (req.url.startsWith("/mint")) {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const { header, claims, by } = JSON.parse(Buffer.concat(chunks).toString());
    const all = Object.entries({ iss: issuer, aud: "hale", sub: "ana", ...claims });
    const jwt = new jose.SignJWT(Object.fromEntries(all.filter(([, value]) => value !== null)));
    jwt.setProtectedHeader({ alg: "RS256", kid: "one", ...header });
    res.end(await jwt.sign(by === "foreign" ? foreign.privateKey : own.privateKey));
    return;
  }
  serve(req, res);
});
console.log(port);
